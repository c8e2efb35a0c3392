// Accepting, listening to the silent, and the ordered end of both.
#include "waiting_listener.h"

#include <array>
#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_limits.h"
#include "strict_socket.h"

namespace sluice::server {

using std::chrono::steady_clock;

namespace {

constexpr milliseconds kPause{20};
constexpr int kAcceptsInARow = 64;

Poco::Net::SocketAddress localOf(int descriptor) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &length);
  return {reinterpret_cast<sockaddr*>(&name), length};
}

}  // namespace

WaitingListener::WaitingListener(FrontShared& shared)
    : shared_(shared), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) error();
}

WaitingListener::~WaitingListener() {
  closeSilent(SteadyTime::max());
  for (const Arrival& arrival : ready_)
    ::close(arrival.descriptor);
  ::close(epoll_);
}

void WaitingListener::prepare() {
  ::fcntl(sockfd(), F_SETFD, FD_CLOEXEC);
  ::fcntl(sockfd(), F_SETFL, ::fcntl(sockfd(), F_GETFL) | O_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // the listening socket itself
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, sockfd(), &event) != 0) error();
  local_ = localOf(sockfd());
}

bool WaitingListener::full() const noexcept {
  const std::int64_t open = shared_.gauge.open() + shared_.silent.load(std::memory_order_relaxed);
  return open + static_cast<std::int64_t>(ready_.size()) >= static_cast<std::int64_t>(shared_.connectionsMax);
}

bool WaitingListener::poll(const Poco::Timespan& timeout, int /*mode*/) {
  if (!ready_.empty()) return true;
  if (shared_.stopping.load(std::memory_order_acquire)) return stopStep();
  if (full()) {
    std::this_thread::sleep_for(kPause);
  } else {
    watch(std::min(milliseconds(timeout.totalMilliseconds()), limits::kReadSlice));
  }
  closeSilent(steady_clock::now() - limits::kSilentMax);
  return !ready_.empty();
}

void WaitingListener::watch(milliseconds wait) {
  std::array<epoll_event, 256> events;
  const int count =
      ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(wait.count()));
  for (int k = 0; k < count; ++k) {
    void* const arrival = events[static_cast<std::size_t>(k)].data.ptr;
    if (arrival == nullptr) {
      acceptAll();
    } else {
      heard(*static_cast<Arrival*>(arrival));
    }
  }
}

void WaitingListener::acceptAll() {
  for (int k = 0; k < kAcceptsInARow && !full() && acceptOne(); ++k) {
  }
}

WaitingListener::Said WaitingListener::whatWasSaid(int descriptor) noexcept {
  char byte = 0;
  const ssize_t got = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Said::Something;
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? Said::Nothing : Said::Gone;
}

bool WaitingListener::acceptOne() {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  const int descriptor = ::accept4(sockfd(), reinterpret_cast<sockaddr*>(&name), &length, SOCK_CLOEXEC);
  if (descriptor < 0) {
    // Out of descriptors: without a pause the accept loop would spin until somebody leaves.
    if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kPause);
    return errno == ECONNABORTED || errno == EINTR;
  }
  shared_.accepted.fetch_add(1, std::memory_order_relaxed);
  Arrival arrival{descriptor, {reinterpret_cast<sockaddr*>(&name), length}, steady_clock::now(), {}};
  // Most clients speak at once; these take no detour.
  if (whatWasSaid(descriptor) == Said::Something) {
    ready_.push_back(std::move(arrival));
    return true;
  }
  const auto self = silent_.insert(silent_.end(), std::move(arrival));
  self->self = self;
  shared_.silent.fetch_add(1, std::memory_order_relaxed);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.ptr = &*self;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) forget(*self);
  return true;
}

void WaitingListener::heard(Arrival& arrival) {
  switch (whatWasSaid(arrival.descriptor)) {
    case Said::Nothing:
      return;
    case Said::Gone:
      return forget(arrival);
    case Said::Something:
      break;
  }
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, arrival.descriptor, nullptr);
  ready_.push_back(arrival);
  silent_.erase(arrival.self);
  shared_.silent.fetch_sub(1, std::memory_order_relaxed);
}

void WaitingListener::forget(Arrival& arrival) noexcept {
  ::close(arrival.descriptor);  // also leaves the epoll set
  silent_.erase(arrival.self);
  shared_.silent.fetch_sub(1, std::memory_order_relaxed);
}

void WaitingListener::closeSilent(SteadyTime before) {
  while (!silent_.empty() && silent_.front().since < before)
    forget(silent_.front());
}

// Whoever had connected before the stop has a moment to speak and is answered; then the address is free.
bool WaitingListener::stopStep() {
  if (!initialized()) {
    std::this_thread::sleep_for(kPause);
    return false;
  }
  if (stopSince_ == SteadyTime()) stopSince_ = steady_clock::now();
  watch(kPause);
  const bool hadItsMoment = silent_.empty() || steady_clock::now() - stopSince_ >= limits::kReadSlice;
  if (ready_.empty() && hadItsMoment) endListening();
  return !ready_.empty();
}

void WaitingListener::endListening() {
  close();
  closeSilent(SteadyTime::max());
  shared_.listening.store(false, std::memory_order_release);
}

Poco::Net::SocketImpl* WaitingListener::acceptConnection(Poco::Net::SocketAddress& peer) {
  const Arrival arrival = ready_.front();
  ready_.pop_front();
  peer = arrival.peer;
  return new StrictSocket(arrival.descriptor, arrival.peer, local_, shared_);
}

}  // namespace sluice::server
