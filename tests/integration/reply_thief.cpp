// See reply_thief.h.
#include "integration/reply_thief.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::test {

namespace {

sockaddr_un addressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(&address.sun_path[0], sizeof(address.sun_path) - 1);
  return address;
}

// bind and connect take the general form of an address.
template <typename Call>
int onSocket(const std::string& path, Call call) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = addressOf(path);
  if (descriptor < 0 || call(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error(path + ": " +
                             std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): a test's message
  }
  return descriptor;
}

}  // namespace

ReplyThief::ReplyThief(const RedisTarget& behind)
    : behind_(behind), listener_(onSocket(folder_.file("t.sock"), ::bind)) {
  if (::listen(listener_, 16) != 0) throw std::runtime_error("listen");
  thread_ = std::thread([this] { run(); });
}

ReplyThief::~ReplyThief() {
  stop_ = true;
  thread_.join();
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.server);
  }
  ::close(listener_);
}

RedisTarget ReplyThief::target() const {
  RedisTarget target = behind_;
  target.socketPath = folder_.file("t.sock");
  return target;
}

void ReplyThief::run() {
  while (!stop_) {
    std::vector<pollfd> watched = {{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      watched.push_back({pair.client, POLLIN, 0});
      watched.push_back({pair.server, POLLIN, 0});
    }
    if (::poll(watched.data(), watched.size(), 10) <= 0) continue;
    std::vector<Pair> alive;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const Pair pair = pairs_[k];
      const bool asked = watched[1 + 2 * k].revents == 0 || forward(pair.client, pair.server, false);
      const bool answered = watched[2 + 2 * k].revents == 0 || forward(pair.server, pair.client, true);
      if (asked && answered) {
        alive.push_back(pair);
      } else {
        ::close(pair.client);
        ::close(pair.server);
      }
    }
    pairs_ = alive;
    if (watched[0].revents != 0) accept();
  }
}

void ReplyThief::accept() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client >= 0) pairs_.push_back({client, onSocket(behind_.socketPath, ::connect)});
}

bool ReplyThief::forward(int from, int to, bool isReply) {
  std::array<char, 65536> bytes{};
  const ssize_t got = ::read(from, bytes.data(), bytes.size());
  if (got <= 0) return false;
  if (isReply && toSteal_ > 0) {
    --toSteal_;
    return false;
  }
  return ::write(to, bytes.data(), static_cast<std::size_t>(got)) == got;
}

}  // namespace sluice::test
