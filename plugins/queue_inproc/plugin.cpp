// queue_inproc: descriptor, options, factory.
#include "sluice/plugin.h"

#include <iterator>
#include <new>

#include "inproc_queue.h"

namespace sluice::inproc {

namespace {

constexpr OptionSpec kOptions[] = {
    {"capacity", OptionType::Integer, "100000", "1..10000000", false,
     "Admissions that are waiting, delayed, handed out or reserved; further requests are answered BUSY. Each "
     "takes about "
     "100 bytes, and all of them are lost when the process dies."},
    {"dead.max", OptionType::Integer, "10000", "1..1000000", false,
     "Dead letters kept. When they are full, the consumer waits until some are replayed or dropped; none is "
     "discarded."},
};

Result<std::unique_ptr<OrderQueue>> make(const QueueContext& context) noexcept {
  if (context.journal) {
    return {ErrorCode::Misconfigured,
            "queue = inproc keeps admissions in memory and needs journal = off; with journal = on a "
            "forwarder would have to move "
            "admissions into this queue, which this version does not have. Set journal = off, or choose "
            "queue = stream, which reads "
            "the journal itself"};
  }
  try {
    const Settings settings{.capacity = static_cast<std::size_t>(context.options.integer("capacity")),
                            .deadMax = static_cast<std::size_t>(context.options.integer("dead.max"))};
    return std::unique_ptr<OrderQueue>(std::make_unique<InprocQueue>(settings, context.log, context.clock));
  } catch (const std::exception& failure) {
    return {ErrorCode::Internal, std::string("queue_inproc: ") + failure.what()};
  }
}

constexpr PluginDescriptor kDescriptor = {
    .magic = kPluginMagic,
    .abi = kPluginAbi,
    .kind = PluginKind::Queue,
    .buildTag = SLUICE_BUILD_TAG,
    .name = "inproc",
    .version = SLUICE_VERSION,
    .summary = "bounded queue in memory; loses what it holds when the process dies (needs journal = off)",
    .options = kOptions,
    .optionCount = std::size(kOptions),
    .makeQueue = make,
    .makeStore = nullptr,
};

}  // namespace

}  // namespace sluice::inproc

SLUICE_PLUGIN(sluice::inproc::kDescriptor)
