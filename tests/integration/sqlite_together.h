// SQLite as the store of a pair (contract/together.h), with the queues that it is tested with.
#pragma once

#include "contract/together.h"

namespace sluice::test {

// Its file is locked from outside where the store has to be away.
[[nodiscard]] std::unique_ptr<TogetherWorld> makeSqliteTogether(const std::string& dataDir);

// A lease that a test can wait for.
[[nodiscard]] inline Settings streamQueue() {
  return {{"queue", "stream"}, {"journal", "true"}, {"queue.stream.lease", "3s"}};
}
[[nodiscard]] inline Settings inprocQueue() { return {{"queue", "inproc"}, {"journal", "false"}}; }

}  // namespace sluice::test
