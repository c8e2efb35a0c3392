// queue_rabbitmq keeps the contract of OrderQueue.
#include "rabbitmq_fixture.h"

namespace sluice::test {

namespace {

SLUICE_QUEUE_CONTRACT(Rabbitmq, kRabbitmq);

}  // namespace

}  // namespace sluice::test
