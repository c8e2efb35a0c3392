// Reads one flat JSON object strictly into fields that the caller named beforehand.
//
// Role:     the only way from a request body to values. Nothing is copied by name: what was not declared is
//           refused. Strict: one object and nothing behind it; no member twice, none unknown; whole numbers
//           only (1.0, 1e3, -0, 01 are refused, as is what does not fit 64 bits); valid UTF-8 without
//           control characters; no \u0000, no half of a surrogate pair; no byte order mark, no comments.
//           Values are strings, whole numbers, true or false, and lists of strings; nothing nests, so depth
//           costs no stack.
// Errors:   a text for people with the byte where it happened; never what the client sent.
// Note:     Poco's parser keeps the last of two equal members, turns 1.9 into 1, and allocates a tree; an
//           order body of 14 bytes is read here without any allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {

enum class JsonKind : std::uint8_t { String, Integer, Boolean, StringList };

// One declared member and, after reading, its value.
struct JsonField {
  std::string_view name;
  JsonKind kind;
  bool required = false;

  bool present = false;
  std::string text;               // String
  std::int64_t number = 0;        // Integer
  bool flag = false;              // Boolean
  std::vector<std::string> list;  // StringList

  JsonField(std::string_view fieldName, JsonKind fieldKind, bool isRequired = false)
      : name(fieldName), kind(fieldKind), required(isRequired) {}
};

// Fills `fields`; answers what is wrong, or nothing.
[[nodiscard]] std::optional<std::string> readJsonObject(std::string_view text, std::span<JsonField> fields);

}  // namespace sluice::server
