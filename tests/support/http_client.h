// A small blocking HTTP client for tests, and a raw socket for what no client would send.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/clock.h"

namespace sluice::test {

struct HttpReply {
  int status = 0;                              // 0: no whole answer came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// One request on a connection of its own.
[[nodiscard]] HttpReply http(std::uint16_t port, const std::string& method, const std::string& path,
                             const HttpHeaders& headers = {}, const std::string& body = {},
                             milliseconds wait = milliseconds(10000));

// The value of a member of a flat JSON object, as text: numbers, true, false and null as written, strings
// without their quotes.
[[nodiscard]] std::string jsonMember(const std::string& json, const std::string& name);

// A connection that sends and receives what it is told.
class RawConnection {
 public:
  explicit RawConnection(std::uint16_t port);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  // False where the peer has closed.
  bool send(const std::string& bytes);
  // One answer by its Content-Length; status 0 where the peer closed or `wait` passed first.
  [[nodiscard]] HttpReply receive(milliseconds wait = milliseconds(10000));
  // True where the peer closes within `wait`; what it sends meanwhile is dropped.
  [[nodiscard]] bool closedWithin(milliseconds wait);
  void finish();  // no more to send (half-close)

 private:
  bool fill(milliseconds wait);
  int descriptor_;
  std::string received_;
};

}  // namespace sluice::test
