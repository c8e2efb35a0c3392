// queue_stream keeps the contract of OrderQueue.
#include "stream_fixture.h"

namespace sluice::test {

namespace {

// Where nobody dies the lease is long, so that a slow machine takes nothing over.
const QueueCase kLongLease{"stream", [] { return std::make_unique<StreamFixture>(milliseconds(60000)); }};
const QueueCase kShortLease{"stream", [] { return std::make_unique<StreamFixture>(milliseconds(600)); }};

const QueueCase kSynced{"stream",
                        [] { return std::make_unique<StreamFixture>(milliseconds(2000), "always"); }};

INSTANTIATE_TEST_SUITE_P(Stream, QueueContract, testing::Values(kLongLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueDelay, testing::Values(kShortLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueLease, testing::Values(kShortLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueProcesses, testing::Values(kShortLease), queueCaseName);
INSTANTIATE_TEST_SUITE_P(Stream, QueueServer, testing::Values(kSynced), queueCaseName);

}  // namespace

}  // namespace sluice::test
