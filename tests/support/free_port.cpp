// See free_port.h.
#include "support/free_port.h"

#include <stdexcept>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::test {

std::uint16_t freePort() {
  const int trial = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool found = ::bind(trial, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(trial, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(trial);
  if (!found) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace sluice::test
