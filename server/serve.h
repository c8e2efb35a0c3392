// serve: runs the program as a server until it is told to end.
#pragma once

#include "sluice/config.h"

namespace sluice::server {

// Opens everything, listens, says on standard output "sluice: ready on http://ADDRESS:PORT" and what it
// promises, and blocks until SIGTERM, SIGINT or SIGQUIT. Then: no new connection, what is being answered is
// answered, the engine stops in order. Answers the exit code: 0 after an ordered stop; 2 where the
// configuration or the place is wrong (port taken, schema not migrated); 3 where a server that is needed for
// the start does not answer; 1 for anything else. The reason is on standard error. Requires: called from the
// main thread, before other threads that would take those signals. Never becomes a daemon: a service manager
// keeps it in the foreground, and Poco's daemon mode forks away from threads that exist already.
[[nodiscard]] int serve(const Config& config);

}  // namespace sluice::server
