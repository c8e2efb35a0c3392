// Walks UTF-8 strictly (no overlong forms, no surrogates) and escapes what a terminal or a log reader could
// misread.
#include "sluice/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sluice {

namespace {

struct Character {
  std::size_t bytes = 1;
  std::uint32_t point = 0;
  bool valid = false;
};

constexpr std::uint32_t kContinuationBits = 6;

// The character that `text` (not empty) begins with; an invalid one is one byte long.
Character firstCharacter(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {1, lead, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, lead, false};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (text.size() < bytes) return {1, lead, false};
  std::uint32_t point = lead & (0x7Fu >> bytes);
  for (const char each : text.substr(1, bytes - 1)) {
    const auto next = static_cast<unsigned char>(each);
    if ((next & 0xC0u) != 0x80u) return {1, lead, false};
    point = (point << kContinuationBits) | (next & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < kSmallest[bytes] || point > 0x10FFFF || surrogate) return {1, lead, false};
  return {bytes, point, true};
}

bool isHarmless(const Character& character) noexcept {
  const std::uint32_t point = character.point;
  if (!character.valid || point < 0x20 || (point >= 0x7F && point <= 0x9F)) return false;
  const bool separator = point == 0x2028 || point == 0x2029;
  const bool turnsDirection = point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
                              (point >= 0x2066 && point <= 0x2069);
  return !separator && !turnsDirection;
}

struct Escape {
  std::array<char, 6> text{};
  std::size_t size = 0;
};

Escape escapeOf(const Character& character) noexcept {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (character.point) {
    case '\n':
      return {{'\\', 'n'}, 2};
    case '\r':
      return {{'\\', 'r'}, 2};
    case '\t':
      return {{'\\', 't'}, 2};
    case '\\':
      return {{'\\', '\\'}, 2};
    default:
      break;
  }
  const bool single = !character.valid || character.point < 0x80;
  Escape escape{{'\\', single ? 'x' : 'u'}, single ? std::size_t{4} : std::size_t{6}};
  std::uint32_t rest = character.point;
  for (std::size_t at = escape.size; at > 2; --at, rest >>= 4u) {
    escape.text[at - 1] = kHex[rest & 0xFu];
  }
  return escape;
}

}  // namespace

bool appendPrintable(std::string& out, std::string_view text, std::size_t sizeMax) {
  constexpr std::string_view kCut = "...";
  const std::size_t begin = out.size();
  std::size_t cutAt = begin;  // where the mark still fits
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    const bool plain = isHarmless(character) && character.point != '\\';
    const Escape escape = plain ? Escape{} : escapeOf(character);
    const std::string_view piece =
        plain ? text.substr(0, character.bytes) : std::string_view(escape.text.data(), escape.size);
    if (out.size() + piece.size() > sizeMax) {
      out.resize(std::max(begin, cutAt));
      out += kCut;
      return false;
    }
    out += piece;
    if (out.size() + kCut.size() <= sizeMax) cutAt = out.size();
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t sizeMax) {
  std::string out;
  appendPrintable(out, text, sizeMax);
  return out;
}

bool isPrintable(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    if (!isHarmless(character)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

}  // namespace sluice
