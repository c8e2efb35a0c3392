// The reader of request heads: however the bytes arrive, the same is found; what is accepted means one thing,
// also when it is written again.
#include <algorithm>
#include <optional>
#include <string>

#include "fuzz/property.h"
#include "server/request_head.h"

namespace sluice::test {
namespace {

using server::HeadScanner;
using server::HttpFault;
using server::HttpHeader;
using server::Method;
using server::RequestHead;

struct Found {
  std::optional<std::size_t> length;
  int faultStatus = 0;
  friend bool operator==(const Found&, const Found&) = default;
};

// Shows the bytes to the scanner `slice` at a time.
Found scan(std::string_view bytes, std::size_t slice) {
  HeadScanner scanner;
  Found found;
  for (std::size_t shown = std::min(slice, bytes.size());; shown = std::min(shown + slice, bytes.size())) {
    found.length = scanner.scan(bytes.substr(0, shown));
    if (scanner.fault()) found.faultStatus = scanner.fault()->status;
    if (found.length || scanner.fault() || shown == bytes.size()) return found;
  }
}

bool isInside(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

bool isOwnLine(std::string_view text) { return text.find_first_of("\r\n") == std::string_view::npos; }

std::string written(const RequestHead& head, std::string_view version) {
  std::string text(server::methodName(head.method));
  text.append(" ").append(head.path);
  if (!head.query.empty()) text.append("?").append(head.query);
  text.append(" ").append(version).append("\r\n");
  for (const HttpHeader& header : head.headers()) {
    text.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  return text + "\r\n";
}

void requireSame(const RequestHead& a, const RequestHead& b) {
  require(a.method == b.method && a.path == b.path && a.query == b.query, "the same request line");
  require(a.contentLength == b.contentLength && a.keepAlive == b.keepAlive &&
              a.expectsContinue == b.expectsContinue && a.headerCount == b.headerCount,
          "the same framing");
  for (std::size_t k = 0; k < a.headerCount; ++k) {
    require(a.headers()[k].name == b.headers()[k].name && a.headers()[k].value == b.headers()[k].value,
            "the same fields");
  }
}

void checkAccepted(std::string_view bytes, const RequestHead& head) {
  const bool star = head.method == Method::Options && head.path == "*";
  require(star || head.path.starts_with('/'), "the path begins with a slash");
  require(head.method != Method::Connect, "nobody is connected through us");
  require(isInside(head.path, bytes) || head.path == "/", "the path is of the request");
  require(isInside(head.query, bytes), "the query is of the request");
  for (const HttpHeader& header : head.headers()) {
    require(isInside(header.name, bytes) && isInside(header.value, bytes), "fields are of the request");
    require(isOwnLine(header.name) && isOwnLine(header.value) && !header.name.empty(),
            "a field is one line and has a name");
  }
}

void parse(std::string_view bytes) {
  RequestHead head;
  if (const auto fault = server::parseHead(bytes, head)) {
    require(fault->status >= 400 && !fault->code.empty() && !fault->detail.empty(), "a refusal says why");
    return;
  }
  checkAccepted(bytes, head);
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  const std::string again = written(head, line.substr(line.rfind(' ') + 1));
  RequestHead second;
  require(scan(again, again.size()).length == again.size(), "what is accepted, written again, is a head");
  require(!server::parseHead(again, second), "what is accepted, written again, is accepted");
  requireSame(head, second);
}

}  // namespace
}  // namespace sluice::test

// The first byte says in which slices the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = sluice::test::bytesOf(data, size).substr(1);
  const auto whole = sluice::test::scan(bytes, std::max<std::size_t>(1, bytes.size()));
  const auto sliced = sluice::test::scan(bytes, std::max<std::size_t>(1, data[0]));
  sluice::test::require(whole == sliced, "slices change nothing");
  if (whole.length) sluice::test::parse(bytes.substr(0, *whole.length));
  return 0;
}
