// The exchange and queues that a RabbitQueue lives in.
//
// Threads:  the owner of the link; takes Shared::topologyMutex.
#pragma once

#include "link.h"

namespace sluice::rabbitmq {

// All is there afterwards, as we want it. What exists with other arguments is left alone and named in the error
// (Misconfigured). Something missing that was there before is one "data lost".
[[nodiscard]] Status ensureTopology(Shared& shared, Link& link, Deadline deadline);

}  // namespace sluice::rabbitmq
