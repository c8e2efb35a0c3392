// A port of 127.0.0.1 on which nobody listens.
#pragma once

#include <cstdint>

namespace sluice::test {

// For a server that cannot choose one itself and tell. Taken from the system's own choice, so that two tests
// of one machine hardly get the same one. Throws std::runtime_error where there is none.
[[nodiscard]] std::uint16_t freePort();

}  // namespace sluice::test
