// See storm.h. One epoll loop; a connection is Waiting (to be opened), Connecting, Open, Asking, or Finished.
#include "cli/storm.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/http_reply.h"

namespace sluice {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Descriptors that are not connections: standard streams, epoll, log, libraries.
constexpr std::uint64_t kDescriptorsReserved = 64;
// Answers are read after this many sends, so that an early answer does not wait for all the sending.
constexpr std::size_t kSendsBetweenReads = 32;
constexpr int kWaitMs = 10;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  void reset() noexcept {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

std::string systemText(int error) { return std::generic_category().message(error); }

enum class Phase : std::uint8_t { Waiting, Connecting, Open, Asking, Finished };

struct Connection {
  Descriptor socket;
  Phase phase = Phase::Waiting;
  std::uint32_t attempts = 0;
  std::size_t sent = 0;
  SteadyTime since{};  // Waiting: not before; Asking: when the first byte was sent
  HttpReply reply;
};

class Storm {
 public:
  Storm(const StormPlan& plan, const std::atomic<bool>& cancelled, const StormProgress& progress)
      : plan_(plan), cancelled_(cancelled), progress_(progress), connections_(plan.requests.size()) {}

  Result<StormReport> run();

 private:
  Status prepare();
  Status openAll();
  Status openSome();
  Status beginConnect(std::size_t index);
  void chooseSource(std::size_t index) const noexcept;
  void release();
  void collect();
  void pump(int waitMs);
  void onEvent(std::size_t index, std::uint32_t events);
  void onConnecting(Connection& connection, std::size_t index);
  void onAsking(std::size_t index, std::uint32_t events);
  void connectFailed(std::size_t index);
  void send(std::size_t index);
  void receive(std::size_t index);
  void finish(std::size_t index, StormFault fault);
  bool watch(std::size_t index, int operation, std::uint32_t events) noexcept;
  void tell(const std::string& line) const {
    if (progress_) {
      progress_(line);
    }
  }

  const StormPlan& plan_;
  const std::atomic<bool>& cancelled_;
  const StormProgress& progress_;
  std::vector<Connection> connections_;
  std::deque<std::size_t> waiting_;
  Descriptor epoll_;
  sockaddr_in address_{};
  std::size_t connecting_ = 0;
  std::size_t open_ = 0;
  std::size_t finished_ = 0;
  bool released_ = false;
  SteadyTime releasedAt_{};
  SteadyTime lastAnswer_{};
  StormReport report_;
};

Status Storm::prepare() {
  const std::uint64_t limit = raiseDescriptorLimit();
  if (connections_.size() + kDescriptorsReserved > limit) {
    return {ErrorCode::Misconfigured,
            "one process may open " + std::to_string(limit) + " descriptors here, and " +
                std::to_string(connections_.size()) +
                " connections are wanted; ask for fewer users or raise `ulimit -n`"};
  }
  address_.sin_family = AF_INET;
  address_.sin_port = htons(plan_.port);
  if (::inet_pton(AF_INET, plan_.host.c_str(), &address_.sin_addr) != 1) {
    return {ErrorCode::Misconfigured, "'" + plan_.host + "' is not a numeric IPv4 address such as 127.0.0.1"};
  }
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.get() < 0) {
    return {ErrorCode::Misconfigured, "epoll: " + systemText(errno)};
  }
  for (std::size_t index = 0; index < connections_.size(); ++index) {
    waiting_.push_back(index);
  }
  report_.answers.resize(connections_.size());
  return {};
}

Result<StormReport> Storm::run() {
  if (Status ready = prepare(); !ready) {
    return ready.error();
  }
  const auto begin = steady_clock::now();
  tell("opening " + std::to_string(connections_.size()) + " connections");
  if (Status opened = openAll(); !opened) {
    return opened.error();
  }
  report_.opening = steady_clock::now() - begin;
  tell(std::to_string(open_) + " connections stand after " +
       std::to_string(std::chrono::duration_cast<milliseconds>(report_.opening).count()) +
       " ms; releasing all requests");
  release();
  collect();
  if (cancelled_) {
    return {ErrorCode::Stopped, "interrupted"};
  }
  report_.answering = lastAnswer_ - releasedAt_;
  return std::move(report_);
}

Status Storm::openAll() {
  const Deadline deadline = Deadline::in(plan_.connectWithin);
  while (open_ + finished_ < connections_.size() && !deadline.passed()) {
    if (cancelled_) {
      return {ErrorCode::Stopped, "interrupted"};
    }
    if (Status some = openSome(); !some) {
      return some;
    }
    pump(kWaitMs);
  }
  for (std::size_t index = 0; index < connections_.size(); ++index) {
    if (connections_[index].phase == Phase::Waiting || connections_[index].phase == Phase::Connecting) {
      ++report_.connectionErrors;
      finish(index, StormFault::NotConnected);
    }
  }
  return {};
}

// Connections that wait for their next attempt stand at the end of the queue, in the order of their time or
// nearly so.
Status Storm::openSome() {
  const auto now = steady_clock::now();
  for (std::size_t looked = waiting_.size(); looked > 0 && connecting_ < plan_.connectingMax; --looked) {
    const std::size_t index = waiting_.front();
    waiting_.pop_front();
    if (connections_[index].since > now) {
      waiting_.push_back(index);
    } else if (Status begun = beginConnect(index); !begun) {
      return begun;
    }
  }
  return {};
}

// For each connect the kernel tries the ports of one parity first; with 14,000 of them taken towards one
// server every further connect walks over all of these, and opening takes seconds. A source address of its
// own has all ports free. Loopback has plenty.
void Storm::chooseSource(std::size_t index) const noexcept {
  constexpr std::uint32_t kLoopbackNet = 127;
  constexpr std::size_t kConnectionsEach = 8000;
  if (ntohl(address_.sin_addr.s_addr) >> 24u != kLoopbackNet) {
    return;
  }
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<std::uint32_t>(index / kConnectionsEach));
  const int on = 1;  // the port is chosen by connect, which knows the whole pair
  ::setsockopt(connections_[index].socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  // Where it fails the kernel chooses, which is only slower.
  static_cast<void>(
      ::bind(connections_[index].socket.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source));
}

Status Storm::beginConnect(std::size_t index) {
  Connection& connection = connections_[index];
  connection.socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (connection.socket.get() < 0) {
    return {ErrorCode::Misconfigured, "socket: " + systemText(errno)};
  }
  const int on = 1;
  ::setsockopt(connection.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  chooseSource(index);
  ++connection.attempts;
  ++connecting_;
  connection.phase = Phase::Connecting;
  const auto* address = reinterpret_cast<const sockaddr*>(&address_);
  if (::connect(connection.socket.get(), address, sizeof address_) != 0 && errno != EINPROGRESS) {
    if (errno == EADDRNOTAVAIL) {
      return {ErrorCode::Misconfigured, "no local port is left for another connection to " + plan_.host +
                                            ":" + std::to_string(plan_.port) + "; ask for fewer users"};
    }
    connectFailed(index);
    return {};
  }
  if (!watch(index, EPOLL_CTL_ADD, EPOLLOUT)) {
    return {ErrorCode::Misconfigured, "epoll: " + systemText(errno)};
  }
  return {};
}

// A refused attempt, or a connection that the server ended before it was asked anything.
void Storm::connectFailed(std::size_t index) {
  Connection& connection = connections_[index];
  ++report_.connectionErrors;
  (connection.phase == Phase::Open ? open_ : connecting_) -= 1;
  connection.socket.reset();
  connection.phase = Phase::Waiting;
  // After the release nobody opens connections any more: a request sent later would not belong to this
  // instant.
  if (released_ || connection.attempts >= plan_.connectAttempts) {
    finish(index, StormFault::NotConnected);
    return;
  }
  const auto pause =
      std::min(milliseconds(10) * (1u << std::min(connection.attempts - 1, 6u)), milliseconds(500));
  connection.since = steady_clock::now() + pause;
  waiting_.push_back(index);
}

bool Storm::watch(std::size_t index, int operation, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = index;
  return ::epoll_ctl(epoll_.get(), operation, connections_[index].socket.get(), &event) == 0;
}

void Storm::pump(int waitMs) {
  std::array<epoll_event, 512> events;
  int count = 0;
  do {
    count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), waitMs);
    for (int at = 0; at < count; ++at) {
      const epoll_event& event = events[static_cast<std::size_t>(at)];
      onEvent(event.data.u64, event.events);
    }
    waitMs = 0;
  } while (count == static_cast<int>(events.size()));
}

void Storm::onEvent(std::size_t index, std::uint32_t events) {
  Connection& connection = connections_[index];
  switch (connection.phase) {
    case Phase::Connecting:
      onConnecting(connection, index);
      break;
    // Nothing was asked yet: whatever comes means that the server does not want this connection.
    case Phase::Open:
      connectFailed(index);
      break;
    case Phase::Asking:
      onAsking(index, events);
      break;
    case Phase::Waiting:
    case Phase::Finished:
      break;
  }
}

void Storm::onConnecting(Connection& connection, std::size_t index) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0 ||
      !watch(index, EPOLL_CTL_MOD, EPOLLIN | EPOLLRDHUP)) {
    connectFailed(index);
    return;
  }
  connection.phase = Phase::Open;
  --connecting_;
  ++open_;
}

void Storm::release() {
  report_.releasedAt = systemClock().now();
  releasedAt_ = lastAnswer_ = steady_clock::now();
  released_ = true;
  std::size_t sends = 0;
  for (std::size_t index = 0; index < connections_.size() && !cancelled_; ++index) {
    Connection& connection = connections_[index];
    if (connection.phase != Phase::Open) {
      continue;
    }
    connection.phase = Phase::Asking;
    connection.since = steady_clock::now();
    send(index);
    if (++sends % kSendsBetweenReads == 0) {
      pump(0);
    }
  }
}

void Storm::send(std::size_t index) {
  Connection& connection = connections_[index];
  const std::string& request = plan_.requests[index];
  while (connection.sent < request.size()) {
    const auto count = ::send(connection.socket.get(), request.data() + connection.sent,
                              request.size() - connection.sent, MSG_NOSIGNAL);
    if (count >= 0) {
      connection.sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      watch(index, EPOLL_CTL_MOD, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
      return;
    } else if (errno != EINTR) {
      ++report_.connectionErrors;
      finish(index, StormFault::Broken);
      return;
    }
  }
}

void Storm::onAsking(std::size_t index, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    watch(index, EPOLL_CTL_MOD, EPOLLIN | EPOLLRDHUP);
    send(index);
  }
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0 && connections_[index].phase == Phase::Asking) {
    receive(index);
  }
}

void Storm::receive(std::size_t index) {
  Connection& connection = connections_[index];
  std::array<char, 4096> buffer;
  while (connection.reply.state() == HttpReply::State::NeedMore) {
    const auto count = ::recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
      connection.reply.feed(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    } else if (count == 0) {
      connection.reply.endOfStream();
      if (connection.reply.state() == HttpReply::State::Bad) {
        ++report_.connectionErrors;
        finish(index, StormFault::Broken);
        return;
      }
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      ++report_.connectionErrors;
      finish(index, StormFault::Broken);
      return;
    }
  }
  finish(index,
         connection.reply.state() == HttpReply::State::Done ? StormFault::None : StormFault::Malformed);
}

void Storm::finish(std::size_t index, StormFault fault) {
  Connection& connection = connections_[index];
  StormAnswer& answer = report_.answers[index];
  answer.fault = fault;
  if (fault == StormFault::None) {
    lastAnswer_ = steady_clock::now();
    answer.status = connection.reply.status();
    answer.body = connection.reply.body();
    answer.latency = lastAnswer_ - connection.since;
  }
  connection.phase = Phase::Finished;
  connection.socket.reset();
  connection.reply = HttpReply();
  ++finished_;
}

void Storm::collect() {
  const Deadline deadline = Deadline::in(plan_.answerWithin);
  while (finished_ < connections_.size() && !deadline.passed() && !cancelled_) {
    pump(kWaitMs);
  }
  for (std::size_t index = 0; index < connections_.size(); ++index) {
    if (connections_[index].phase != Phase::Finished) {
      finish(index, StormFault::TimedOut);
    }
  }
}

}  // namespace

std::string_view stormFaultName(StormFault fault) noexcept {
  switch (fault) {
    case StormFault::None:
      return "none";
    case StormFault::NotConnected:
      return "not_connected";
    case StormFault::Broken:
      return "broken";
    case StormFault::Malformed:
      return "malformed";
    case StormFault::TimedOut:
      break;
  }
  return "timed_out";
}

std::uint64_t raiseDescriptorLimit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 0;
  }
  if (limit.rlim_cur != limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
      return raised.rlim_cur;
    }
  }
  return limit.rlim_cur;
}

Result<StormReport> runStorm(const StormPlan& plan, const std::atomic<bool>& cancelled,
                             const StormProgress& progress) {
  return Storm(plan, cancelled, progress).run();
}

}  // namespace sluice
