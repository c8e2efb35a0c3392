// The JSON writer's escapes and commas.
#include "json_writer.h"

#include <array>

#include "http_message.h"
#include "utc_text.h"

namespace sluice::server {

namespace {

// The length of the valid UTF-8 sequence at the front of `text`, or 0.
std::size_t validSequence(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((static_cast<unsigned char>(text[k]) & 0xC0u) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

void appendControl(std::string& out, unsigned char code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.append("\\u00");
  out += kHex[code >> 4u];
  out += kHex[code & 0xFu];
}

// Appends the character at the front of `text`; answers how many bytes it took.
std::size_t appendCharacter(std::string& out, std::string_view text) {
  const auto code = static_cast<unsigned char>(text.front());
  if (code == '"' || code == '\\') {
    out += '\\';
    out += text.front();
  } else if (code < 0x20 || code == 0x7F) {
    appendControl(out, code);
  } else if (code < 0x80) {
    out += text.front();
  } else if (const std::size_t length = validSequence(text); length > 0) {
    out.append(text.substr(0, length));
    return length;
  } else {
    out.append("\xEF\xBF\xBD");
  }
  return 1;
}

}  // namespace

void JsonWriter::separate() {
  if (needComma_) out_ += ',';
  needComma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  needComma_ = false;
  return *this;
}

JsonWriter& JsonWriter::shut(char bracket) {
  out_ += bracket;
  needComma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  needComma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  out_ += '"';
  while (!value.empty())
    value.remove_prefix(appendCharacter(out_, value));
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
  separate();
  appendNumber(out_, value);
  return *this;
}

JsonWriter& JsonWriter::quotedNumber(std::int64_t value) {
  separate();
  out_ += '"';
  appendNumber(out_, value);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_.append(value ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_.append("null");
  return *this;
}

JsonWriter& JsonWriter::time(UtcTime value) { return text(utcText(value)); }

}  // namespace sluice::server
