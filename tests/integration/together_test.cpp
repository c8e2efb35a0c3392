// A queue and a store of this build pass the suite of both together. Which two, says the build:
// SLUICE_TOGETHER_QUEUE and SLUICE_TOGETHER_STORE.
#include <stdexcept>

#include "integration/together_worlds.h"
#include "support/private_rabbitmq.h"

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
// A broker of this program's own; heartbeats that find out soon who is frozen.
Settings rabbitmqQueue() {
  static PrivateRabbitmq broker;
  return {{"queue", "rabbitmq"},
          {"journal", "true"},
          {"forwarder.lease", "1s"},
          {"forwarder.stale", "2s"},
          {"queue.rabbitmq.port", std::to_string(broker.port())},
          {"queue.rabbitmq.heartbeat", "2s"},
          {"queue.rabbitmq.lease", "3s"}};
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
  if (kQueue == "rabbitmq") {
    pair.queue = rabbitmqQueue();
    pair.survivesKill = true;
    pair.otherQueue = streamQueue();
  }
  if (kStore == "sqlite") pair.makeWorld = makeSqliteTogether;
  if (kStore == "pg") pair.makeWorld = makePgTogether;
  if (kStore == "mysql") pair.makeWorld = makeMysqlTogether;
  if (kQueue == "rabbitmq") pair.makeWorld = withQueueOfItsOwn(pair.makeWorld);
  if (pair.queue.empty() || !pair.makeWorld) throw std::runtime_error("unknown pair " + pair.name);
  return pair;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Pair, Together, testing::Values(thePair()),
                         [](const auto& pair) { return pair.param.name; });

}  // namespace sluice::test
