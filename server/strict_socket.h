// StrictSocket: the socket that the threaded front gives to Poco. It reads whole requests by our rules
// before Poco sees a byte.
//
// Role:     Poco's parser takes what it should refuse: bare line feeds, folded headers, "+5" and "1,0" as
//           lengths, lengths beside chunked bodies, 0xFF as end of the head, encoded words with hidden line
//           ends; it has no deadline for a whole request. So this socket reads head and body itself
//           (request_head.h), answers faults itself, and shows Poco only a request line and a Connection
//           header that it wrote. Poco keeps what it is good at: accepting, threads, the connection's life.
// Threads:  one at a time: the thread that Poco has given the connection. Blocking: reads sleep in slices
//           of limits::kReadSlice; between them it looks at the deadline, at those who wait, and at stop.
// Note:     overriding poll, address and peerAddress also saves eight system calls a request (Poco makes a
//           new epoll set for each poll).
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocketImpl.h>

#include "front_shared.h"
#include "request_head.h"

namespace sluice::server {

class StrictSocket final : public Poco::Net::StreamSocketImpl {
 public:
  StrictSocket(poco_socket_t descriptor, const Poco::Net::SocketAddress& peer,
               const Poco::Net::SocketAddress& local, FrontShared& shared);
  ~StrictSocket() override;  // called by Poco's reference count

  // Answers the request that was read, in one write. False: the connection ends behind it.
  bool answer();

  // Poco asks whether a next request begins; true once its first byte is there.
  bool poll(const Poco::Timespan& timeout, int mode) override;
  // Poco reads a request: reads and checks it whole, then hands out the head written for Poco. 0 (end) where
  // there is none to answer.
  int receiveBytes(void* buffer, int length, int flags) override;
  Poco::Net::SocketAddress address() override { return local_; }
  Poco::Net::SocketAddress peerAddress() override { return peer_; }
  void close() override;  // the last thing that the connection's thread does
  void setReceiveTimeout(const Poco::Timespan&) override {}  // ours is the slice, set once

 private:
  enum class Wait : std::uint8_t { Data, End, TimeOut };

  Wait receiveMore(SteadyTime deadline);
  Wait receiveUntil(SteadyTime deadline);
  bool waitForFirstByte(milliseconds timeout);
  bool mustGo() noexcept;
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
  int answered_ = 0;      // requests of this connection
  bool closing_ = false;  // nothing more is read
  bool yielding_ = false;
  // Another thread may destroy the socket. Poco's reference count orders that behind its use; inside Poco's
  // library no tool sees it, so this says it again.
  std::atomic<bool> usedUp_{false};
};

}  // namespace sluice::server
