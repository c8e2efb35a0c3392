// StrictSocket: the socket that the threaded front gives to Poco. It reads whole requests by our rules before
// Poco sees a byte.
//
// Role:      Poco's parser takes what it should refuse: bare line feeds, folded headers, "+5" and "1,0" as
// lengths, lengths beside
//            chunked bodies, 0xFF as end of the head, encoded words with hidden line ends; it has no deadline
//            for a whole request. So this socket reads head and body itself (request_head.h), answers faults
//            itself, and shows Poco only a request line and a Connection header that it wrote. Poco keeps
//            what it is good at: accepting, threads, the connection's life.
// Threads:   one at a time: the thread that Poco has given the connection.
// Blocking:  reads sleep in slices of limits::kReadSlice; between them it looks at the deadline, at those who
// wait, and at stop. Note:      overriding poll, address and peerAddress also saves eight system calls a
// request (Poco makes a new epoll set for each poll).
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <Poco/Net/ServerSocketImpl.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocketImpl.h>

#include "connection_gauge.h"
#include "front.h"
#include "request_head.h"

namespace sluice::server {

// What all connections of a front share.
struct FrontShared {
  FrontShared(FrontOptions frontOptions, HttpService& httpService, const Clock& itsClock, Log& itsLog)
      : options(std::move(frontOptions)),
        service(httpService),
        clock(itsClock),
        log(itsLog),
        gauge(static_cast<std::int64_t>(options.threads)) {}

  FrontOptions options;
  HttpService& service;
  const Clock& clock;
  Log& log;
  ConnectionGauge gauge;
  std::atomic<bool> stopping{false};
  std::atomic<bool> listening{false};  // new connections are let in
  // Counters of their own, relaxed.
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> timedOut{0};
};

class StrictSocket final : public Poco::Net::StreamSocketImpl {
 public:
  StrictSocket(poco_socket_t descriptor, const Poco::Net::SocketAddress& peer,
               const Poco::Net::SocketAddress& local, FrontShared& shared);

  // Answers the request that was read, in one write. False: the connection ends behind it.
  bool answer();

  // Poco asks whether a next request begins; true once its first byte is there.
  bool poll(const Poco::Timespan& timeout, int mode) override;
  // Poco reads a request: reads and checks it whole, then hands out the head written for Poco. 0 (end) where
  // there is none to answer.
  int receiveBytes(void* buffer, int length, int flags) override;
  Poco::Net::SocketAddress address() override { return local_; }
  Poco::Net::SocketAddress peerAddress() override { return peer_; }
  void setReceiveTimeout(const Poco::Timespan&) override {}  // ours is the slice, set once

 protected:
  ~StrictSocket() override;

 private:
  enum class Wait : std::uint8_t { Data, End, TimeOut };

  Wait receiveMore(SteadyTime deadline);
  bool waitForFirstByte(milliseconds timeout);
  bool mustGo(SteadyTime since, bool first) noexcept;
  bool readRequest();
  bool readHead();
  bool readBody();
  bool unreadBody() noexcept;
  bool fail(const HttpFault& fault);
  bool failRead(Wait why);
  bool sendContinue();
  bool sendAll(std::string_view bytes) noexcept;
  void writeHeadForPoco();
  void linger() noexcept;
  void dropAnswered() noexcept;
  [[nodiscard]] std::string_view received() const noexcept { return {buffer_.data(), filled_}; }

  const Poco::Net::SocketAddress peer_;
  const Poco::Net::SocketAddress local_;
  const std::string peerHost_;
  FrontShared& shared_;

  std::vector<char> buffer_;
  std::size_t filled_ = 0;      // bytes received and not dropped
  std::size_t headLength_ = 0;  // of the request at the front of the buffer
  std::size_t bodyLength_ = 0;
  RequestHead head_;
  HttpResponse response_;
  std::string out_;  // the answer's bytes; keeps its capacity
  std::string forPoco_;
  std::size_t forPocoAt_ = 0;
  int answered_ = 0;  // requests of this connection
  bool firstRequest_ = true;
  bool closing_ = false;  // nothing more is read
  bool yielding_ = false;
};

// The listening socket that makes StrictSockets. Lets connections wait in the kernel while threads and queue
// are full, and stops accepting, without losing those already there, when the front stops.
class StrictServerSocket final : public Poco::Net::ServerSocketImpl {
 public:
  explicit StrictServerSocket(FrontShared& shared) : shared_(shared) {}
  Poco::Net::SocketImpl* acceptConnection(Poco::Net::SocketAddress& peer) override;
  bool poll(const Poco::Timespan& timeout, int mode) override;

 protected:
  ~StrictServerSocket() override = default;

 private:
  [[nodiscard]] bool readable(milliseconds wait) const noexcept;
  FrontShared& shared_;
};

}  // namespace sluice::server
