// Text that came from outside, made safe to show: control characters and broken UTF-8 escaped, length cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// Appends `text` to `out` until `out` would be longer than `sizeMax`; then it ends in "...". Escaped as \n,
// \r, \t, \\, \x1b (bytes) or \u202e (code points): control characters, invalid UTF-8, line separators and
// marks that turn the direction of writing. Whole characters and whole escapes only. Answers false where it
// was cut.
bool appendPrintable(std::string& out, std::string_view text, std::size_t sizeMax);

[[nodiscard]] std::string printable(std::string_view text, std::size_t sizeMax = 80);

// Valid UTF-8 without anything that appendPrintable would escape, the backslash aside.
[[nodiscard]] bool isPrintable(std::string_view text) noexcept;

}  // namespace sluice
