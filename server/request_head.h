// Reads the head of an HTTP/1.1 request strictly: whatever two readers could understand differently is
// refused.
//
// Role:     pure functions over bytes; the fronts do the reading from sockets.
// Errors:   an HttpFault with the status to answer; the connection must be closed behind it, because where
//           the next request begins is not known any more.
// Note:     bodies need Content-Length. Chunked bodies are refused: with one form only, a proxy and this
//           server cannot disagree about where a request ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "http_message.h"
#include "server_limits.h"

namespace sluice::server {

struct RequestHead {
  Method method = Method::Get;
  std::string_view path;
  std::string_view query;
  std::array<HttpHeader, limits::kHeadersMax> headerArray;
  std::size_t headerCount = 0;
  std::optional<std::uint64_t> contentLength;
  bool keepAlive = true;
  bool expectsContinue = false;

  [[nodiscard]] std::span<const HttpHeader> headers() const noexcept {
    return {headerArray.data(), headerCount};
  }
};

// Looks at bytes as they arrive, each once, and finds the empty line behind a head.
class HeadScanner {
 public:
  // `bytes` is everything received of this request so far (more than at the last call).
  // Answers the length of the head with its empty line, or nothing where more is needed.
  [[nodiscard]] std::optional<std::size_t> scan(std::string_view bytes) noexcept;
  // Set where the bytes can never become a head that is accepted.
  [[nodiscard]] const std::optional<HttpFault>& fault() const noexcept { return fault_; }

 private:
  bool accept(char byte) noexcept;
  std::size_t at_ = 0;
  std::size_t lineStart_ = 0;
  bool sawReturn_ = false;
  bool firstLine_ = true;
  std::optional<HttpFault> fault_;
};

// Reads a complete head as HeadScanner found it. The views of `head` point into `bytes`.
[[nodiscard]] std::optional<HttpFault> parseHead(std::string_view bytes, RequestHead& head) noexcept;

}  // namespace sluice::server
