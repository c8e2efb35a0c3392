// queue_rabbitmq with queue.type = classic: what one process sees of it is the same.
#include "rabbitmq_fixture.h"

namespace sluice::test {

namespace {

const QueueCase kClassic{"classic",
                         [](const QueueNeeds& needs) {
                           auto fixture = std::make_unique<RabbitFixture>(needs);
                           fixture->settings.quorum = false;
                           return fixture;
                         },
                         {}};

SLUICE_QUEUE_SUITE(Classic, QueueContract, kClassic);
SLUICE_QUEUE_SUITE(Classic, QueueDelay, kClassic);
SLUICE_QUEUE_SUITE(Classic, QueueBytes, kClassic);

}  // namespace

}  // namespace sluice::test
