// queue_stream keeps the contract of OrderQueue.
#include "stream_fixture.h"

namespace sluice::test {

namespace {

SLUICE_QUEUE_CONTRACT(Stream, kStream);

}  // namespace

}  // namespace sluice::test
