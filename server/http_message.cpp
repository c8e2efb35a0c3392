// Look-up of headers, and the wire format of an answer.
#include "http_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace sluice::server {

namespace {

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// "Mon, 30 Nov 2026 14:25:00 GMT", made once a second and thread.
std::string_view httpDate(UtcTime now) {
  thread_local std::int64_t madeFor = -1;
  thread_local std::array<char, 32> text{};
  thread_local std::size_t length = 0;
  const std::int64_t second = toMillis(now) / 1000;
  if (second != madeFor) {
    const std::time_t time = second;
    std::tm parts{};
    gmtime_r(&time, &parts);
    length = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    madeFor = second;
  }
  return {text.data(), length};
}

}  // namespace

std::string_view methodName(Method method) noexcept {
  constexpr std::array<std::string_view, 9> kNames = {"GET",    "HEAD",    "POST",  "PUT",    "PATCH",
                                                      "DELETE", "OPTIONS", "TRACE", "CONNECT"};
  return kNames[static_cast<std::size_t>(method)];
}

bool equalsIgnoringCase(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                   [](char a, char b) { return lower(a) == lower(b); });
}

HeaderLookup HttpRequest::header(std::string_view name) const noexcept {
  HeaderLookup found;
  for (const HttpHeader& header : headers) {
    if (!equalsIgnoringCase(header.name, name)) continue;
    if (found.count++ == 0) found.value = header.value;
  }
  return found;
}

void HttpResponse::clear() noexcept {
  status = 200;
  contentType = kJsonType;
  body.clear();
  keepAlive = true;
  headerLines_.clear();
}

void HttpResponse::add(std::string_view name, std::string_view value) {
  headerLines_.append(name).append(": ").append(value).append("\r\n");
}

std::string_view HttpResponse::header(std::string_view name) const noexcept {
  std::string_view lines = headerLines_;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(": ");
    if (equalsIgnoringCase(line.substr(0, colon), name)) return line.substr(colon + 2);
  }
  return {};
}

std::string_view reasonPhrase(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

void appendNumber(std::string& out, std::int64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void appendResponse(const HttpResponse& response, bool bodyless, UtcTime now, std::string& out) {
  out.append("HTTP/1.1 ");
  appendNumber(out, response.status);
  out.append(" ").append(reasonPhrase(response.status)).append("\r\nDate: ").append(httpDate(now));
  if (!response.body.empty()) out.append("\r\nContent-Type: ").append(response.contentType);
  out.append("\r\nContent-Length: ");
  appendNumber(out, static_cast<std::int64_t>(response.body.size()));
  // Nothing here may be kept by a cache: every answer is one user's, or of this instant.
  out.append("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
  out.append(response.headerLines());
  out.append(response.keepAlive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
  if (!bodyless) out.append(response.body);
}

}  // namespace sluice::server
