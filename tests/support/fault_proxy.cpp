// See fault_proxy.h. One thread polls all descriptors; commands change the rules under its lock and wake it.
#include "support/fault_proxy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::test {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Between two pieces of a sliced way: long enough that a reader who waits sees them one by one.
constexpr microseconds kPieceGap{200};
// A server of this machine answers a connect at once or refuses; only a full backlog makes it wait.
constexpr timeval kConnectMax{1, 0};

SteadyTime steadyNow() { return std::chrono::steady_clock::now(); }

[[noreturn]] void fail(const char* doing) {
  throw std::runtime_error(std::string("fault proxy: ") + doing + ": " +
                           std::generic_category().message(errno));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Bound to 127.0.0.1; several of ours may share the port.
int boundSocket(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) fail("socket");
  const int on = 1;
  const sockaddr_in address = loopback(port);
  if (::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
      ::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("bind");
  }
  return made;
}

std::uint16_t portOf(int bound) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(bound, reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
  return ntohs(address.sin_port);
}

int connectTo(int made, const sockaddr* address, socklen_t size) {
  if (made < 0) return -1;
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &kConnectMax, sizeof kConnectMax);
  if (::connect(made, address, size) == 0) return made;
  ::close(made);
  return -1;
}

int connectToSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return connectTo(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                   reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

int connectToPort(std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  const int made = connectTo(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                             reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int on = 1;
  if (made >= 0) ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

void closeWith(int descriptor, Ending ending) {
  if (ending == Ending::Reset) {
    const linger now{1, 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  ::close(descriptor);
}

}  // namespace

// What was read and not yet forwarded on one way of a line.
struct FaultProxy::Lane {
  struct Chunk {
    SteadyTime due;
    std::string bytes;  // empty: the sender's end
    std::size_t done = 0;
  };
  int from = -1;
  int to = -1;
  std::deque<Chunk> waiting;
  std::size_t size = 0;    // bytes in `waiting`
  SteadyTime notBefore{};  // the next piece
  bool ended = false;      // the sender has said its last
  bool told = false;       // and the receiver knows

  [[nodiscard]] bool reads(Flow flow) const { return !ended && flow != Flow::Stall && size < kBufferMax; }
  // When the first chunk may go; nothing where none waits or may.
  [[nodiscard]] std::optional<SteadyTime> due(Flow flow) const {
    if (waiting.empty() || flow != Flow::Pass) return std::nullopt;
    return std::max(waiting.front().due, notBefore);
  }
};

struct FaultProxy::Line {
  int client;
  int server;
  std::array<Lane, 2> lanes;
  std::optional<Ending> over;  // to be closed so

  Line(int clientSide, int serverSide) : client(clientSide), server(serverSide) {
    lanes[0].from = lanes[1].to = client;
    lanes[1].from = lanes[0].to = server;
  }
  ~Line() {
    closeWith(client, over.value_or(Ending::Close));
    closeWith(server, over.value_or(Ending::Close));
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  [[nodiscard]] Lane& lane(Way way) { return lanes.at(static_cast<std::size_t>(way)); }
};

// What to poll: the wake-up, the listener, then two descriptors for each line.
struct FaultProxy::Watch {
  std::vector<pollfd> descriptors;
  std::optional<SteadyTime> until;

  void add(int descriptor, bool reads, bool writes) {
    const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
    // A negative one is ignored: an end on a line that is not read would wake the poll for ever.
    descriptors.push_back({events == 0 ? -1 : descriptor, static_cast<short>(events), 0});
  }
  void wait() {
    timespec time{};
    if (until) {
      const auto left = std::max(nanoseconds(0), nanoseconds(*until - steadyNow()));
      time.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
      time.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
    }
    ::ppoll(descriptors.data(), descriptors.size(), until ? &time : nullptr, nullptr);
  }
};

FaultProxy::FaultProxy(ProxiedServer server) : server_(std::move(server)), reserved_(boundSocket(0)) {
  port_ = portOf(reserved_);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_ < 0) fail("eventfd");
  listenOrNot();
  thread_ = std::thread([this] { run(); });
}

FaultProxy::~FaultProxy() {
  command([this] { ending_ = true; });
  thread_.join();
  lines_.clear();
  for (const int descriptor : {listener_, reserved_, wake_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

template <typename Change>
void FaultProxy::command(Change change) {
  std::unique_lock lock(mutex_);
  change();
  const std::uint64_t mine = ++commands_;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  obeyed_.wait(lock, [&] { return obeyedUpTo_ >= mine; });
}

void FaultProxy::pass() {
  command([this] {
    rules_ = {};
    accepting_ = true;
  });
}

void FaultProxy::refuse() {
  command([this] { accepting_ = false; });
}

void FaultProxy::cut(Ending ending) {
  command([&] { cut_ = ending; });
}

void FaultProxy::stall(Way way) {
  command([&] { rule(way).flow = Flow::Stall; });
}

void FaultProxy::stall() {
  command([this] { rule(Way::ToServer).flow = rule(Way::ToClient).flow = Flow::Stall; });
}

void FaultProxy::drop(Way way) {
  command([&] { rule(way).flow = Flow::Drop; });
}

void FaultProxy::delay(Way way, milliseconds by) {
  command([&] { rule(way).delay = by; });
}

void FaultProxy::slice(Way way, std::size_t bytes) {
  command([&] { rule(way).pieceMax = std::max<std::size_t>(bytes, 1); });
}

void FaultProxy::cutAfter(Way way, std::uint64_t bytes, Ending ending) {
  command([&] {
    rule(way).left = bytes;
    rule(way).ending = ending;
  });
}

std::uint64_t FaultProxy::connections() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

std::size_t FaultProxy::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_.size();
}

std::uint64_t FaultProxy::cuts() const {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

std::uint64_t FaultProxy::bytes(Way way) const {
  const std::lock_guard lock(mutex_);
  return count(way).bytes;
}

std::uint64_t FaultProxy::dropped(Way way) const {
  const std::lock_guard lock(mutex_);
  return count(way).dropped;
}

std::uint64_t FaultProxy::pieces(Way way) const {
  const std::lock_guard lock(mutex_);
  return count(way).pieces;
}

void FaultProxy::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    obey();
    if (ending_) return;
    Watch seen = watch();
    lock.unlock();
    seen.wait();
    lock.lock();
    moveBytes(seen);
  }
}

// Carries out what was commanded since the last round. Only this thread closes what it polls.
void FaultProxy::obey() {
  std::uint64_t rung = 0;
  [[maybe_unused]] const auto read = ::read(wake_, &rung, sizeof rung);
  listenOrNot();
  if (cut_) cutAll(*cut_);
  cut_.reset();
  std::erase_if(lines_, [](const auto& line) { return line->over.has_value(); });
  obeyedUpTo_ = commands_;
  obeyed_.notify_all();
}

void FaultProxy::listenOrNot() {
  if (accepting_ == (listener_ >= 0)) return;
  if (!accepting_) {
    ::close(listener_);
    listener_ = -1;
    return;
  }
  listener_ = boundSocket(port_);
  if (::listen(listener_, 512) != 0) fail("listen");
}

FaultProxy::Watch FaultProxy::watch() {
  Watch seen;
  seen.add(wake_, true, false);
  seen.add(listener_, listener_ >= 0, false);
  const SteadyTime now = steadyNow();
  for (const auto& line : lines_) {
    std::array<bool, 2> writes{};
    for (const Way way : {Way::ToServer, Way::ToClient}) {
      const auto due = line->lane(way).due(rule(way).flow);
      if (!due) continue;
      writes.at(static_cast<std::size_t>(way)) = *due <= now;
      if (*due > now) seen.until = std::min(*due, seen.until.value_or(*due));
    }
    seen.add(line->client, line->lanes[0].reads(rules_[0].flow), writes[1]);
    seen.add(line->server, line->lanes[1].reads(rules_[1].flow), writes[0]);
  }
  return seen;
}

void FaultProxy::moveBytes(const Watch& seen) {
  // A command may have come while we polled; the lines are the same until obey().
  for (std::size_t at = 0; at < lines_.size(); ++at) {
    Line& line = *lines_[at];
    if ((seen.descriptors[2 + 2 * at].revents & ~POLLOUT) != 0) readFrom(line, Way::ToServer);
    if ((seen.descriptors[3 + 2 * at].revents & ~POLLOUT) != 0) readFrom(line, Way::ToClient);
    writeTo(line, Way::ToServer);
    writeTo(line, Way::ToClient);
    if (line.lanes[0].told && line.lanes[1].told && !line.over) line.over = Ending::Close;
  }
  if (listener_ >= 0 && seen.descriptors[1].revents != 0) acceptAll();
}

void FaultProxy::acceptAll() {
  while (true) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    ++accepted_;
    const int server = lines_.size() < kLinesMax ? connectServer() : -1;
    if (server < 0) {
      closeWith(client, Ending::Reset);
      continue;
    }
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    lines_.push_back(std::make_unique<Line>(client, server));
  }
}

int FaultProxy::connectServer() const {
  return server_.socketPath.empty() ? connectToPort(server_.port) : connectToSocket(server_.socketPath);
}

void FaultProxy::readFrom(Line& line, Way way) {
  Lane& lane = line.lane(way);
  const Rule& now = rule(way);
  if (line.over || !lane.reads(now.flow)) return;
  std::string bytes(kBufferMax - lane.size, '\0');
  const auto got = ::recv(lane.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) line.over = Ending::Reset;
    return;
  }
  bytes.resize(static_cast<std::size_t>(got));
  lane.ended = bytes.empty();
  if (now.flow == Flow::Drop && !lane.ended) {
    count(way).dropped += bytes.size();
    return;
  }
  lane.size += bytes.size();
  lane.waiting.push_back({steadyNow() + now.delay, std::move(bytes)});
}

void FaultProxy::writeTo(Line& line, Way way) {
  Lane& lane = line.lane(way);
  while (!line.over) {
    const auto due = lane.due(rule(way).flow);
    if (!due || *due > steadyNow()) return;
    const std::size_t before = lane.size;
    if (lane.waiting.front().bytes.empty()) {
      ::shutdown(lane.to, SHUT_WR);
      lane.told = true;
      lane.waiting.pop_front();
      return;
    }
    writePiece(line, way);
    if (lane.size == before) return;  // the receiver takes no more now
  }
}

void FaultProxy::writePiece(Line& line, Way way) {
  Lane& lane = line.lane(way);
  Rule& now = rule(way);
  Lane::Chunk& chunk = lane.waiting.front();
  std::size_t wanted = std::min(chunk.bytes.size() - chunk.done, now.pieceMax);
  if (now.left) wanted = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, *now.left));
  const auto sent =
      wanted == 0 ? 0 : ::send(lane.to, chunk.bytes.data() + chunk.done, wanted, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) line.over = Ending::Reset;
    return;
  }
  const auto done = static_cast<std::size_t>(sent);
  chunk.done += done;
  lane.size -= done;
  count(way).bytes += done;
  count(way).pieces += done > 0 ? 1U : 0U;
  if (chunk.done == chunk.bytes.size()) lane.waiting.pop_front();
  if (now.pieceMax < kBufferMax) lane.notBefore = steadyNow() + kPieceGap;
  if (!now.left) return;
  *now.left -= done;
  if (*now.left > 0) return;
  now.left.reset();
  cutAll(now.ending);
}

void FaultProxy::cutAll(Ending ending) {
  ++cuts_;
  for (const auto& line : lines_) {
    line->over = ending;
  }
}

}  // namespace sluice::test
