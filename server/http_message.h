// Request and answer as router and handlers see them: no word about sockets or about Poco.
//
// Role:     a front fills HttpRequest and writes HttpResponse; both fronts and the tests use the same two
//           types. Lifetime: the views of a request point into the front's buffer and are valid until its
//           answer is written.
// Note:     an HttpResponse is reused for all requests of a connection, so that its strings keep their
//           capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sluice/clock.h"

namespace sluice::server {

enum class Method : std::uint8_t { Get, Head, Post, Put, Patch, Delete, Options, Trace, Connect };

[[nodiscard]] std::string_view methodName(Method method) noexcept;

struct HttpHeader {
  std::string_view name;
  std::string_view value;  // without blanks around it
};

// How often a header came, and its first value.
struct HeaderLookup {
  std::size_t count = 0;
  std::string_view value;
};

// Compares ASCII without regard to case, as header names and tokens are.
[[nodiscard]] bool equalsIgnoringCase(std::string_view left, std::string_view right) noexcept;

struct HttpRequest {
  Method method = Method::Get;
  std::string_view path;   // as sent, never percent-decoded: every route is plain ASCII
  std::string_view query;  // behind '?', as sent
  std::span<const HttpHeader> headers;
  std::string_view body;
  std::string_view peer;  // address without port

  [[nodiscard]] HeaderLookup header(std::string_view name) const noexcept;
};

// Why a request is refused before a handler sees it. The texts are static.
struct HttpFault {
  int status = 400;
  std::string_view code;    // "BAD_REQUEST"
  std::string_view detail;  // what is wrong and what is right
};

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kProblemType = "application/problem+json";
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

class HttpResponse {
 public:
  int status = 200;
  std::string_view contentType = kJsonType;  // static text
  std::string body;
  bool keepAlive = true;  // false: the connection is closed behind this answer

  // Back to an empty 200; keeps capacity.
  void clear() noexcept;
  // Adds a header. Callers pass fixed text and numbers of ours, never what a client sent: nothing is escaped
  // here.
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;  // empty where it is not set
  [[nodiscard]] const std::string& headerLines() const noexcept { return headerLines_; }

 private:
  std::string headerLines_;  // "Name: value\r\n" each
};

[[nodiscard]] std::string_view reasonPhrase(int status) noexcept;

// Appends the whole answer, head and body, in wire format. `bodyless` for HEAD: the length is named, the body
// is not sent.
void appendResponse(const HttpResponse& response, bool bodyless, UtcTime now, std::string& out);

// Appends a decimal number without an allocation of its own.
void appendNumber(std::string& out, std::int64_t number);

}  // namespace sluice::server
