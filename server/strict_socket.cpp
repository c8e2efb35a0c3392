// Reading whole requests under deadlines, and answering in one write.
#include "strict_socket.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>

namespace sluice::server {

using std::chrono::steady_clock;

namespace {

constexpr std::size_t kFirstBuffer = limits::kHeadBytesMax + limits::kBodyBytesMax;

void setTimeout(int descriptor, int option, milliseconds time) noexcept {
  timeval value{};
  value.tv_sec = static_cast<time_t>(time.count() / 1000);
  value.tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000);
  ::setsockopt(descriptor, SOL_SOCKET, option, &value, sizeof value);
}

}  // namespace

StrictSocket::StrictSocket(poco_socket_t descriptor, const Poco::Net::SocketAddress& peer,
                           const Poco::Net::SocketAddress& local, FrontShared& shared)
    : StreamSocketImpl(descriptor),
      peer_(peer),
      local_(local),
      peerHost_(peer.host().toString()),
      shared_(shared) {
  shared_.gauge.enter();
  setTimeout(descriptor, SO_RCVTIMEO, limits::kReadSlice);
  setTimeout(descriptor, SO_SNDTIMEO, shared_.options.requestTimeout);
}

void StrictSocket::close() {
  StreamSocketImpl::close();
  usedUp_.store(true, std::memory_order_release);
}

StrictSocket::~StrictSocket() {
  static_cast<void>(usedUp_.load(std::memory_order_acquire));
  shared_.gauge.leave();
  if (yielding_) shared_.gauge.yielded();
}

// --- reading ---

// A client that drips bytes finds the deadline as well as one that sends none.
StrictSocket::Wait StrictSocket::receiveUntil(SteadyTime deadline) {
  return steady_clock::now() >= deadline ? Wait::TimeOut : receiveMore(deadline);
}

// Sleeps until bytes come; looks at the deadline after each slice without any.
StrictSocket::Wait StrictSocket::receiveMore(SteadyTime deadline) {
  if (filled_ == buffer_.size()) return Wait::End;  // callers make room first
  while (true) {
    const ssize_t got = ::recv(sockfd(), buffer_.data() + filled_, buffer_.size() - filled_, 0);
    if (got > 0) {
      filled_ += static_cast<std::size_t>(got);
      return Wait::Data;
    }
    const bool again = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (!again) return Wait::End;
    if (steady_clock::now() >= deadline) return Wait::TimeOut;
  }
}

// Whether an idle connection has to make room, at stop or when others wait. It was idle for a slice at least.
bool StrictSocket::mustGo() noexcept {
  yielding_ = yielding_ || shared_.gauge.shouldYield();
  return yielding_ || shared_.stopping.load(std::memory_order_relaxed);
}

bool StrictSocket::waitForFirstByte(milliseconds timeout) {
  if (buffer_.empty()) buffer_.resize(kFirstBuffer);
  const SteadyTime since = steady_clock::now();
  while (true) {
    // One slice at a time: an expired deadline makes receiveMore return after one.
    switch (receiveMore(since)) {
      case Wait::Data:
        return true;
      case Wait::End:
        return false;
      case Wait::TimeOut:
        break;
    }
    if (steady_clock::now() - since >= timeout || mustGo()) return false;
  }
}

bool StrictSocket::poll(const Poco::Timespan& timeout, int mode) {
  if ((mode & SELECT_READ) == 0) return StreamSocketImpl::poll(timeout, mode);
  if (closing_) return false;
  return filled_ > 0 || waitForFirstByte(milliseconds(timeout.totalMilliseconds()));
}

bool StrictSocket::failRead(Wait why) {
  if (why == Wait::TimeOut) {
    shared_.timedOut.fetch_add(1, std::memory_order_relaxed);
    return fail({408, "REQUEST_TIMEOUT", "The request did not arrive whole in time."});
  }
  closing_ = true;  // the client has gone in the middle of its request: nobody is there to be answered
  return false;
}

bool StrictSocket::readHead() {
  HeadScanner scanner;
  const SteadyTime deadline = steady_clock::now() + shared_.options.requestTimeout;
  std::optional<std::size_t> length;
  while (!(length = scanner.scan(received()))) {
    if (scanner.fault()) return fail(*scanner.fault());
    if (const Wait wait = receiveUntil(deadline); wait != Wait::Data) return failRead(wait);
  }
  headLength_ = *length;
  const auto fault = parseHead(received().substr(0, headLength_), head_);
  return !fault || fail(*fault);
}

// Methods without a body of their own: it is not read, and the connection ends behind the answer.
bool StrictSocket::unreadBody() noexcept {
  return head_.contentLength.value_or(0) > 0 && head_.method != Method::Post && head_.method != Method::Put &&
         head_.method != Method::Patch;
}

bool StrictSocket::readBody() {
  bodyLength_ = 0;
  if (unreadBody()) {
    head_.keepAlive = false;
    return true;
  }
  const std::uint64_t length = head_.contentLength.value_or(0);
  if (length == 0) return true;
  if (length > shared_.service.bodyMax(head_.method, head_.path)) {
    return fail({413, "BODY_TOO_LARGE", "The body is larger than this address takes."});
  }
  bodyLength_ = static_cast<std::size_t>(length);
  if (headLength_ + bodyLength_ > buffer_.size()) {
    buffer_.resize(headLength_ + bodyLength_);
    // The views of the head pointed into the old memory; what was read once is read the same again.
    static_cast<void>(parseHead(received().substr(0, headLength_), head_));
  }
  if (head_.expectsContinue && filled_ < headLength_ + bodyLength_ && !sendContinue()) return false;
  const SteadyTime deadline = steady_clock::now() + shared_.options.requestTimeout;
  while (filled_ < headLength_ + bodyLength_) {
    if (const Wait wait = receiveUntil(deadline); wait != Wait::Data) return failRead(wait);
  }
  return true;
}

bool StrictSocket::readRequest() {
  if (closing_ || !readHead() || !readBody()) return false;
  writeHeadForPoco();
  return true;
}

void StrictSocket::writeHeadForPoco() {
  forPocoAt_ = 0;
  forPoco_.assign(methodName(head_.method)).append(" ").append(head_.path);
  forPoco_.append(" HTTP/1.1\r\nContent-Length: 0\r\nConnection: ");
  forPoco_.append(head_.keepAlive ? "keep-alive\r\n\r\n" : "close\r\n\r\n");
}

int StrictSocket::receiveBytes(void* buffer, int length, int /*flags*/) {
  if (forPocoAt_ == forPoco_.size() && !readRequest()) return 0;
  const std::size_t count = std::min(static_cast<std::size_t>(length), forPoco_.size() - forPocoAt_);
  std::memcpy(buffer, forPoco_.data() + forPocoAt_, count);
  forPocoAt_ += count;
  return static_cast<int>(count);
}

// --- answering ---

bool StrictSocket::sendAll(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(sockfd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    // Also where the client does not read: SO_SNDTIMEO has passed.
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool StrictSocket::sendContinue() {
  if (sendAll("HTTP/1.1 100 Continue\r\n\r\n")) return true;
  closing_ = true;
  return false;
}

bool StrictSocket::fail(const HttpFault& fault) {
  shared_.refused.fetch_add(1, std::memory_order_relaxed);
  response_.clear();
  shared_.service.refuse(fault, response_);
  response_.keepAlive = false;
  out_.clear();
  appendResponse(response_, false, shared_.clock.now(), out_);
  closing_ = true;
  if (sendAll(out_)) linger();
  return false;
}

bool StrictSocket::answer() {
  const HttpRequest request{
      head_.method, head_.path, head_.query, head_.headers(), received().substr(headLength_, bodyLength_),
      peerHost_};
  response_.clear();
  shared_.requests.fetch_add(1, std::memory_order_relaxed);
  shared_.service.answer(request, response_);
  // A thread serves one connection: while others wait for one, nobody keeps it.
  ++answered_;
  const bool mayStay = head_.keepAlive && shared_.options.keepAlive > milliseconds(0) &&
                       answered_ < limits::kRequestsPerConnectionMax && shared_.gauge.waiting() == 0 &&
                       !shared_.stopping.load(std::memory_order_relaxed);
  response_.keepAlive = response_.keepAlive && mayStay;
  out_.clear();
  appendResponse(response_, head_.method == Method::Head, shared_.clock.now(), out_);
  closing_ = !sendAll(out_) || !response_.keepAlive;
  if (closing_ && (unreadBody() || filled_ > headLength_ + bodyLength_)) linger();
  dropAnswered();
  return !closing_;
}

void StrictSocket::dropAnswered() noexcept {
  const std::size_t used = headLength_ + bodyLength_;
  filled_ -= used;
  if (filled_ > 0) std::memmove(buffer_.data(), buffer_.data() + used, filled_);
  headLength_ = bodyLength_ = 0;
}

void StrictSocket::linger() noexcept {
  ::shutdown(sockfd(), SHUT_WR);
  const SteadyTime deadline = steady_clock::now() + limits::kLinger;
  std::size_t thrownAway = 0;
  while (thrownAway < limits::kLingerBytesMax && steady_clock::now() < deadline) {
    const ssize_t got = ::recv(sockfd(), buffer_.data(), buffer_.size(), 0);
    if (got > 0) thrownAway += static_cast<std::size_t>(got);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
  }
}

}  // namespace sluice::server
