// WaitingListener: the listening socket of the threaded front. It keeps connections until their first
// byte is there.
//
// Role:     a thread of the threaded front serves one connection at a time, so a connection that says
//           nothing would hold one for nothing: 256 silent sockets would stop the server, and a crowd that
//           connects early would lock itself out. Here they wait in one epoll set instead, and Poco is
//           given only those that have something to say.
// Threads:  Poco's accept thread; silent() from any thread.
// Limits:   silent connections are closed after limits::kSilentMax; connections above `connectionsMax` wait
//           in the kernel.
#pragma once

#include <atomic>
#include <deque>
#include <list>

#include <Poco/Net/ServerSocketImpl.h>
#include <Poco/Net/SocketAddress.h>
#include <sys/epoll.h>

#include "front_shared.h"

namespace sluice::server {

class WaitingListener final : public Poco::Net::ServerSocketImpl {
 public:
  explicit WaitingListener(FrontShared& shared);
  ~WaitingListener() override;  // called by Poco's reference count

  // After bind and listen: from now on this socket never blocks, and children do not inherit it.
  void prepare();

  // True once a connection with something to say is there.
  bool poll(const Poco::Timespan& timeout, int mode) override;
  Poco::Net::SocketImpl* acceptConnection(Poco::Net::SocketAddress& peer) override;

 private:
  struct Arrival {
    int descriptor = -1;
    Poco::Net::SocketAddress peer;
    SteadyTime since;
    std::list<Arrival>::iterator self;
  };
  enum class Said : std::uint8_t { Something, Nothing, Gone };

  void watch(milliseconds wait);
  void acceptAll();
  bool acceptOne();
  void heard(Arrival& arrival);
  void closeSilent(SteadyTime before);
  void forget(Arrival& arrival) noexcept;
  bool stopStep();
  void endListening();
  [[nodiscard]] static Said whatWasSaid(int descriptor) noexcept;
  [[nodiscard]] bool full() const noexcept;

  FrontShared& shared_;
  const int epoll_;
  std::list<Arrival> silent_;  // oldest first
  std::deque<Arrival> ready_;
  Poco::Net::SocketAddress local_;
  SteadyTime stopSince_{};
};

}  // namespace sluice::server
