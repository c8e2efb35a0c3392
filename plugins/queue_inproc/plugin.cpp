// queue_inproc: descriptor, options, factory.
#include "sluice/plugin.h"

#include <iterator>
#include <new>

#include "inproc_queue.h"

namespace sluice::inproc {

namespace {

constexpr OptionSpec kOptions[] = {
    {"capacity", OptionType::Integer, "100000", "1..10000000", false,
     "Admissions that are waiting, delayed, handed out or reserved; beyond it requests are answered "
     "BUSY, with journal = on only once the journal is full too. Each takes about 100 bytes. With journal = "
     "off all of "
     "them are lost when the process dies."},
    {"dead.max", OptionType::Integer, "10000", "1..1000000", false,
     "Dead letters kept. When they are full, the consumer waits until some are replayed or dropped; none is "
     "discarded."},
};

Result<std::unique_ptr<OrderQueue>> make(const QueueContext& context) noexcept {
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
    .summary =
        "bounded queue in memory of one process; with journal = off it loses what it holds when the process "
        "dies",
    .options = kOptions,
    .optionCount = std::size(kOptions),
    .makeQueue = make,
    .makeStore = nullptr,
};

}  // namespace

}  // namespace sluice::inproc

SLUICE_PLUGIN(sluice::inproc::kDescriptor)
