// What the fuzz targets share: the entry that both libFuzzer and the replay call, and the check of a
// property.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sluice::test {

inline std::string_view bytesOf(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes read as characters
  return {reinterpret_cast<const char*>(data), size};
}

// A property that does not hold is a crash for libFuzzer, and ends the replay.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", property);
  std::abort();
}

}  // namespace sluice::test
