// The strict reader of request heads: scanning for the end, the request line, the fields, and what the fields
// mean.
#include "request_head.h"

#include <algorithm>
#include <charconv>

namespace sluice::server {

namespace {

using Fault = std::optional<HttpFault>;

constexpr HttpFault bad(std::string_view detail) noexcept { return {400, "BAD_REQUEST", detail}; }

constexpr bool isTokenChar(char c) noexcept {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return kOthers.find(c) != std::string_view::npos;
}

constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }

bool isToken(std::string_view text) noexcept {
  for (const char c : text) {
    if (!isTokenChar(c)) return false;
  }
  return !text.empty();
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Cuts the next line (without CRLF) from the front of `rest`.
std::string_view takeLine(std::string_view& rest) noexcept {
  const std::string_view line = rest.substr(0, rest.find("\r\n"));
  rest.remove_prefix(line.size() + 2);
  return line;
}

std::optional<Method> parseMethod(std::string_view name) noexcept {
  for (const Method method : {Method::Get, Method::Post, Method::Head, Method::Put, Method::Patch,
                              Method::Delete, Method::Options, Method::Trace, Method::Connect}) {
    if (methodName(method) == name) return method;
  }
  return std::nullopt;
}

// Answers the minor version of HTTP/1.x.
Fault parseVersion(std::string_view text, int& minor) noexcept {
  const bool shaped = text.size() == 8 && text.substr(0, 5) == "HTTP/" && isDigit(text[5]) &&
                      text[6] == '.' && isDigit(text[7]);
  if (!shaped) return bad("The request line must be: method, one space, target, one space, HTTP/1.1.");
  if (text[5] != '1' || text[7] > '1')
    return HttpFault{505, "HTTP_VERSION", "This server speaks HTTP/1.1 and HTTP/1.0."};
  minor = text[7] - '0';
  return std::nullopt;
}

// A name or address with an optional port; no user, no path, no list.
bool isAuthority(std::string_view text) noexcept {
  for (const char c : text) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '.' ||
                         c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
    if (!allowed) return false;
  }
  return !text.empty();
}

// Origin form, or absolute form whose authority then stands for Host.
Fault parseTarget(std::string_view target, RequestHead& head) noexcept {
  constexpr std::string_view kScheme = "http://";
  if (equalsIgnoringCase(target.substr(0, kScheme.size()), kScheme)) {
    target.remove_prefix(kScheme.size());
    const std::string_view authority = target.substr(0, target.find_first_of("/?"));
    if (!isAuthority(authority)) return bad("The target names no sound host.");
    target.remove_prefix(authority.size());
    if (target.empty()) target = "/";
  }
  if (target.empty() || target.front() != '/') return bad("The target must begin with '/'.");
  if (target.find('#') != std::string_view::npos) return bad("The target must not contain '#'.");
  const std::size_t question = target.find('?');
  head.path = target.substr(0, question);
  head.query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  return std::nullopt;
}

Fault parseRequestLine(std::string_view line, RequestHead& head, int& minor) noexcept {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return bad("The request line must be: method, one space, target, one space, HTTP/1.1.");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (target.find_first_of(" \t") != std::string_view::npos)
    return bad("The target must not contain blanks.");
  if (Fault fault = parseVersion(line.substr(last + 1), minor)) return fault;
  if (!isToken(line.substr(0, first))) return bad("The method is not a word.");
  const auto method = parseMethod(line.substr(0, first));
  if (!method) return HttpFault{501, "METHOD_UNKNOWN", "This server does not know the method."};
  head.method = *method;
  if (*method == Method::Connect) return HttpFault{405, "METHOD_NOT_ALLOWED", "CONNECT is for proxies."};
  if (*method == Method::Options && target == "*") {
    head.path = target;
    head.query = {};
    return std::nullopt;
  }
  return parseTarget(target, head);
}

// The fields that decide where a request ends and what becomes of the connection.
struct Framing {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  std::string_view encoding;
  bool close = false;
  bool keepAlive = false;
};

Fault readLength(std::string_view value, RequestHead& head) noexcept {
  constexpr std::size_t kDigitsMax = 19;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  const bool digits = !value.empty() && isDigit(value.front()) && end == value.data() + value.size();
  if (!digits || error != std::errc() || value.size() > kDigitsMax)
    return bad("Content-Length must be decimal digits.");
  head.contentLength = length;
  return std::nullopt;
}

void readConnection(std::string_view value, Framing& framing) noexcept {
  while (!value.empty()) {
    const std::string_view word = value.substr(0, value.find(','));
    value.remove_prefix(std::min(value.size(), word.size() + 1));
    framing.close = framing.close || equalsIgnoringCase(trimmed(word), "close");
    framing.keepAlive = framing.keepAlive || equalsIgnoringCase(trimmed(word), "keep-alive");
  }
}

Fault noteField(const HttpHeader& header, RequestHead& head, Framing& framing) noexcept {
  switch (header.name.size()) {
    case 4:
      if (!equalsIgnoringCase(header.name, "Host")) break;
      ++framing.hosts;
      if (!isAuthority(header.value)) return bad("Host must be a name or address with an optional port.");
      break;
    case 6:
      if (!equalsIgnoringCase(header.name, "Expect")) break;
      if (!equalsIgnoringCase(header.value, "100-continue")) {
        return HttpFault{417, "EXPECTATION_FAILED", "Only Expect: 100-continue is known."};
      }
      head.expectsContinue = true;
      break;
    case 10:
      if (equalsIgnoringCase(header.name, "Connection")) readConnection(header.value, framing);
      break;
    case 14:
      if (!equalsIgnoringCase(header.name, "Content-Length")) break;
      if (framing.lengths++ > 0) return bad("Content-Length must come once.");
      return readLength(header.value, head);
    case 17:
      if (!equalsIgnoringCase(header.name, "Transfer-Encoding")) break;
      ++framing.encodings;
      framing.encoding = header.value;
      break;
    default:
      break;
  }
  return std::nullopt;
}

Fault parseField(std::string_view line, RequestHead& head, Framing& framing) noexcept {
  if (line.size() > limits::kHeaderBytesMax)
    return HttpFault{431, "HEADER_TOO_LARGE", "A header must not exceed 8 KiB."};
  if (head.headerCount == head.headerArray.size())
    return HttpFault{431, "TOO_MANY_HEADERS", "At most 64 headers are read."};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !isToken(line.substr(0, colon))) {
    return bad("A header must be: name, colon, value; no blank before the colon, no folded lines.");
  }
  HttpHeader& header = head.headerArray[head.headerCount++];
  header = {line.substr(0, colon), trimmed(line.substr(colon + 1))};
  return noteField(header, head, framing);
}

Fault checkEncoding(const Framing& framing, int minor) noexcept {
  if (framing.encodings == 0) return std::nullopt;
  if (framing.lengths > 0) return bad("Content-Length and Transfer-Encoding together are refused.");
  if (framing.encodings > 1 || minor == 0) return bad("Transfer-Encoding is refused here.");
  if (equalsIgnoringCase(framing.encoding, "chunked")) {
    return HttpFault{411, "LENGTH_REQUIRED", "Chunked bodies are not accepted: send Content-Length."};
  }
  return HttpFault{501, "TRANSFER_ENCODING", "This transfer encoding is not known: send Content-Length."};
}

Fault checkFraming(const Framing& framing, int minor, RequestHead& head) noexcept {
  if (framing.hosts > 1 || (framing.hosts == 0 && minor == 1))
    return bad("Exactly one Host header is needed.");
  if (Fault fault = checkEncoding(framing, minor)) return fault;
  const bool needsLength =
      head.method == Method::Post || head.method == Method::Put || head.method == Method::Patch;
  if (needsLength && !head.contentLength) {
    return HttpFault{411, "LENGTH_REQUIRED", "Send Content-Length; 0 where there is no body."};
  }
  head.keepAlive = !framing.close && (minor == 1 || framing.keepAlive);
  return std::nullopt;
}

}  // namespace

bool HeadScanner::accept(char byte) noexcept {
  const auto code = static_cast<unsigned char>(byte);
  if (sawReturn_ != (byte == '\n')) {
    fault_ = bad("Lines must end with CR LF, and neither may stand alone.");
  } else if (code >= 0x7F || (code < 0x20 && byte != '\t' && byte != '\r' && byte != '\n')) {
    fault_ = bad("A request head must be printable ASCII.");
  }
  sawReturn_ = byte == '\r';
  return !fault_;
}

std::optional<std::size_t> HeadScanner::scan(std::string_view bytes) noexcept {
  const std::size_t end = std::min(bytes.size(), limits::kHeadBytesMax);
  for (; at_ < end; ++at_) {
    if (!accept(bytes[at_])) return std::nullopt;
    if (firstLine_ && at_ >= limits::kRequestLineBytesMax) {
      fault_ = HttpFault{414, "URI_TOO_LONG", "The request line must not exceed 4 KiB."};
      return std::nullopt;
    }
    if (bytes[at_] != '\n') continue;
    const bool emptyLine = at_ - lineStart_ == 1;
    lineStart_ = at_ + 1;
    if (emptyLine) return ++at_;
    firstLine_ = false;
  }
  if (bytes.size() >= limits::kHeadBytesMax) {
    fault_ = HttpFault{431, "HEAD_TOO_LARGE", "A request head must not exceed 16 KiB."};
  }
  return std::nullopt;
}

std::optional<HttpFault> parseHead(std::string_view bytes, RequestHead& head) noexcept {
  head.headerCount = 0;
  head.contentLength.reset();
  head.expectsContinue = false;
  int minor = 1;
  Framing framing;
  if (Fault fault = parseRequestLine(takeLine(bytes), head, minor)) return fault;
  for (std::string_view line = takeLine(bytes); !line.empty(); line = takeLine(bytes)) {
    if (Fault fault = parseField(line, head, framing)) return fault;
  }
  return checkFraming(framing, minor, head);
}

}  // namespace sluice::server
