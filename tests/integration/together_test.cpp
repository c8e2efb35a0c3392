// A queue and a store of this build pass the suite of both together. Which two, says the build:
// SLUICE_TOGETHER_QUEUE and SLUICE_TOGETHER_STORE.
#include <stdexcept>

#include "integration/together_worlds.h"

namespace sluice::test {
namespace {

const std::string kQueue = SLUICE_TOGETHER_QUEUE;
const std::string kStore = SLUICE_TOGETHER_STORE;

// A lease that a test can wait for.
Settings streamQueue() { return {{"queue", "stream"}, {"journal", "true"}, {"queue.stream.lease", "3s"}}; }
Settings inprocQueue() { return {{"queue", "inproc"}, {"journal", "false"}}; }
Settings inprocJournalQueue() {
  return {{"queue", "inproc"}, {"journal", "true"}, {"forwarder.lease", "1s"}, {"forwarder.stale", "2s"}};
}

TogetherPair thePair() {
  TogetherPair pair;
  pair.name = kQueue + "_" + kStore;
  if (kQueue == "stream") {
    pair.queue = streamQueue();
    pair.survivesKill = true;
    pair.otherQueue = inprocQueue();
  } else if (kQueue == "inproc") {
    pair.queue = inprocQueue();
    pair.otherQueue = streamQueue();
  }
  if (kQueue == "inproc_journal") {
    pair.queue = inprocJournalQueue();
    pair.survivesKill = true;
    pair.otherQueue = streamQueue();
  }
  if (kStore == "sqlite") pair.makeWorld = makeSqliteTogether;
  if (kStore == "pg") pair.makeWorld = makePgTogether;
  if (kStore == "mysql") pair.makeWorld = makeMysqlTogether;
  if (pair.queue.empty() || !pair.makeWorld) throw std::runtime_error("unknown pair " + pair.name);
  return pair;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Pair, Together, testing::Values(thePair()),
                         [](const auto& pair) { return pair.param.name; });

}  // namespace sluice::test
