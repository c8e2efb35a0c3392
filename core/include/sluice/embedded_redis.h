// EmbeddedRedis: a private redis-server in the data folder, shared by the commands that use the folder,
// ended with its owner.
//
// Role:     `redis.embedded = true`. The first command that comes starts it (the owner), others attach to
//           it.
// Threads:  start and destructor by the owner; the rest from any thread. Lifetime: the server ends with its
//           owner, also when that is killed. Its append-only file stays in the folder. With `supervise`
//           this object starts it again when it dies, and takes over when the owner it was attached to has
//           gone. Blocking: start() until the server answers, or the Deadline passes.
// Errors:   NotFound where redis-server is not installed, Misconfigured where the folder cannot be used or
//           its path is too long for a socket, Unavailable where the server does not come up (the reason is
//           in redis.log, named in the text).
#pragma once

#include <memory>
#include <string>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/redis.h"
#include "sluice/result.h"

namespace sluice {

struct EmbeddedRedisOptions {
  std::string dataDir;                   // absolute
  std::string appendFsync = "everysec";  // or "always"
  bool supervise = false;
};

class EmbeddedRedis {
 public:
  [[nodiscard]] static Result<std::unique_ptr<EmbeddedRedis>> start(const EmbeddedRedisOptions& options,
                                                                    Log& log, Deadline deadline);
  virtual ~EmbeddedRedis();
  // Where it listens: <dataDir>/redis/redis.sock.
  [[nodiscard]] static std::string socketPath(const std::string& dataDir);
  // The process id while this object owns the server, else 0.
  [[nodiscard]] virtual int serverPid() const noexcept = 0;
};

}  // namespace sluice
