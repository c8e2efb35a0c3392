// See old_redis.h. The client sends one request and waits, so what one read brings is one request.
#include "old_redis.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::test {

namespace {

bool isReadable(int descriptor) {
  pollfd watched{descriptor, POLLIN, 0};
  return ::poll(&watched, 1, 20) > 0;
}

}  // namespace

OldRedis::OldRedis(std::string version) : version_(std::move(version)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = target().socketPath;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_, 8) != 0) {
    throw std::runtime_error("no socket at " + path);
  }
  thread_ = std::thread([this] { serve(); });
}

OldRedis::~OldRedis() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

RedisTarget OldRedis::target() const {
  RedisTarget target;
  target.socketPath = folder_.file("old.sock");
  return target;
}

void OldRedis::serve() {
  int client = -1;
  while (!stop_) {
    if (client < 0) {
      if (isReadable(listener_)) client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      continue;
    }
    if (!isReadable(client)) continue;
    std::array<char, 4096> buffer;
    const auto count = ::read(client, buffer.data(), buffer.size());
    const std::string_view request(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    const std::string info = "# Server\r\nredis_version:" + version_ + "\r\n";
    const std::string reply = request.find("INFO") == std::string_view::npos
                                  ? "+OK\r\n"
                                  : "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n";
    if (count <= 0 || ::write(client, reply.data(), reply.size()) < 0) ::close(std::exchange(client, -1));
  }
  if (client >= 0) ::close(client);
}

}  // namespace sluice::test
