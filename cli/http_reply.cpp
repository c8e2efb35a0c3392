// See http_reply.h. Bytes gather in pending_ until the part being read is whole; each step consumes one part.
#include "cli/http_reply.h"

#include <algorithm>
#include <charconv>

namespace sluice {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
// A chunk size line carries at most 16 hexadecimal digits and extensions nobody uses.
constexpr std::size_t kChunkLineMax = 256;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool sameName(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The whole of `text` as a number, or nothing.
std::optional<std::size_t> number(std::string_view text, int base) noexcept {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Calls `use(name, value)` for each header line; false where a line is not one.
template <typename Use>
bool eachHeader(std::string_view head, Use&& use) {
  while (!head.empty()) {
    const auto end = head.find(kLineEnd);
    const std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + kLineEnd.size());
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 ||
        line.substr(0, colon).find_first_of(" \t") != std::string_view::npos) {
      return false;
    }
    use(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return true;
}

}  // namespace

HttpReply::State HttpReply::bad(std::string_view why) noexcept {
  fault_ = why;
  return state_ = State::Bad;
}

HttpReply::State HttpReply::done() noexcept {
  return pending_.empty() ? state_ = State::Done : bad("bytes behind the response");
}

HttpReply::State HttpReply::feed(std::string_view bytes) {
  if (state_ == State::Bad || bytes.empty()) {
    return state_;
  }
  pending_ += bytes;
  if (state_ == State::Done) {
    return bad("bytes behind the response");
  }
  // A step that consumed its part may find the next one whole already.
  for (std::size_t before = pending_.size() + 1;
       state_ == State::NeedMore && !pending_.empty() && pending_.size() != before;) {
    before = pending_.size();
    state_ = step();
  }
  return state_;
}

HttpReply::State HttpReply::endOfStream() {
  if (state_ != State::NeedMore) {
    return state_;
  }
  return part_ == Part::UntilClose ? done() : bad("the connection ended inside the response");
}

HttpReply::State HttpReply::step() {
  switch (part_) {
    case Part::Head:
      return readHead();
    case Part::Length:
      return readLength();
    case Part::ChunkSize:
      return readChunkSize();
    case Part::ChunkData:
      return readChunkData();
    case Part::Trailer:
      return readTrailer();
    case Part::UntilClose:
      break;
  }
  return appendBody(pending_.size()) ? State::NeedMore : bad("body too large");
}

bool HttpReply::parseStatusLine(std::string_view line) noexcept {
  if (line.size() < 12 || (!line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.0 "))) {
    return false;
  }
  const auto code = number(line.substr(9, 3), 10);
  if (!code || *code < 100 || *code > 599 || (line.size() > 12 && line[12] != ' ')) {
    return false;
  }
  status_ = static_cast<int>(*code);
  return true;
}

HttpReply::State HttpReply::readHead() {
  const auto end = pending_.find(kHeadEnd);
  if (end == std::string::npos || end > kHeadBytesMax) {
    return pending_.size() > kHeadBytesMax ? bad("head too large") : State::NeedMore;
  }
  const auto lineEnd = pending_.find(kLineEnd);
  if (!parseStatusLine(std::string_view(pending_).substr(0, lineEnd))) {
    return bad("not an HTTP/1 status line");
  }
  head_ = lineEnd == end ? std::string()
                         : pending_.substr(lineEnd + kLineEnd.size(), end - lineEnd - kLineEnd.size());
  pending_.erase(0, end + kHeadEnd.size());
  // An interim answer (100 Continue) is followed by the real one.
  return status_ < 200 ? State::NeedMore : chooseBody();
}

HttpReply::State HttpReply::chooseBody() {
  std::optional<std::size_t> length;
  bool chunked = false;
  bool sound = true;
  const bool allHeaders = eachHeader(head_, [&](std::string_view name, std::string_view value) {
    if (sameName(name, "Content-Length")) {
      sound = sound && !length;  // two lengths: two readers would see two bodies
      length = number(value, 10);
      sound = sound && length;
    } else if (sameName(name, "Transfer-Encoding")) {
      sound = sound && !chunked && sameName(value, "chunked");
      chunked = true;
    }
  });
  if (!allHeaders || !sound || (chunked && length)) {
    return bad("headers that do not say where the body ends");
  }
  if (status_ == 204 || status_ == 304) {
    return done();
  }
  if (length && *length > kBodyBytesMax) {
    return bad("body too large");
  }
  remaining_ = length.value_or(0);
  part_ = chunked ? Part::ChunkSize : length ? Part::Length : Part::UntilClose;
  return length && *length == 0 ? done() : State::NeedMore;
}

bool HttpReply::appendBody(std::size_t count) {
  if (body_.size() + count > kBodyBytesMax) {
    return false;
  }
  body_.append(pending_, 0, count);
  pending_.erase(0, count);
  return true;
}

HttpReply::State HttpReply::readLength() {
  const std::size_t count = std::min(remaining_, pending_.size());
  if (!appendBody(count)) {
    return bad("body too large");
  }
  remaining_ -= count;
  return remaining_ == 0 ? done() : State::NeedMore;
}

HttpReply::State HttpReply::readChunkSize() {
  const auto end = pending_.find(kLineEnd);
  if (end == std::string::npos) {
    return pending_.size() > kChunkLineMax ? bad("chunk size line too long") : State::NeedMore;
  }
  const std::string_view line = std::string_view(pending_).substr(0, end);
  const auto size = number(trimmed(line.substr(0, line.find(';'))), 16);
  if (!size || *size > kBodyBytesMax) {
    return bad("not a chunk size");
  }
  pending_.erase(0, end + kLineEnd.size());
  remaining_ = *size;
  part_ = *size == 0 ? Part::Trailer : Part::ChunkData;
  return State::NeedMore;
}

HttpReply::State HttpReply::readChunkData() {
  if (pending_.size() < remaining_ + kLineEnd.size()) {
    return State::NeedMore;
  }
  if (std::string_view(pending_).substr(remaining_, kLineEnd.size()) != kLineEnd) {
    return bad("chunk without its line end");
  }
  if (!appendBody(remaining_)) {
    return bad("body too large");
  }
  pending_.erase(0, kLineEnd.size());
  part_ = Part::ChunkSize;
  return State::NeedMore;
}

HttpReply::State HttpReply::readTrailer() {
  const auto end = pending_.find(kLineEnd);
  if (end == std::string::npos) {
    return pending_.size() > kHeadBytesMax ? bad("trailer too large") : State::NeedMore;
  }
  pending_.erase(0, end + kLineEnd.size());
  return end == 0 ? done() : State::NeedMore;
}

std::optional<std::string_view> HttpReply::header(std::string_view name) const noexcept {
  std::optional<std::string_view> found;
  eachHeader(head_, [&](std::string_view candidate, std::string_view value) {
    if (!found && sameName(candidate, name)) {
      found = value;
    }
  });
  return found;
}

}  // namespace sluice
