// See free_port.h.
#include "support/free_port.h"

#include <stdexcept>

#include "sluice/private_database.h"

namespace sluice::test {

std::uint16_t freePort() {
  const auto port = sluice::freePort();
  if (!port) throw std::runtime_error(port.error().text);
  return port.value();
}

}  // namespace sluice::test
