// Writes JSON to the end of a string: commas and escapes in one place, no stream, no tree.
//
// Note:     numbers that name things (ids) are written as strings, because JavaScript rounds above 2^53.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/ids.h"

namespace sluice::server {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) noexcept : out_(out) {}

  JsonWriter& beginObject() { return open('{'); }
  JsonWriter& endObject() { return shut('}'); }
  JsonWriter& beginList() { return open('['); }
  JsonWriter& endList() { return shut(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& number(std::int64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& time(UtcTime value);  // see utc_text.h
  template <typename Tag>
  JsonWriter& id(Id<Tag> value) {
    return quotedNumber(value.value());
  }

  // key and value at once.
  JsonWriter& member(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& member(std::string_view name, std::int64_t value) { return key(name).number(value); }
  JsonWriter& flag(std::string_view name, bool value) { return key(name).boolean(value); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& shut(char bracket);
  JsonWriter& quotedNumber(std::int64_t value);
  void separate();

  std::string& out_;
  bool needComma_ = false;
};

}  // namespace sluice::server
