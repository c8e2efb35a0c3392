// How fast the queues hand out and settle: queue_stream on a private Redis, queue_inproc in memory.
//
// usage: queue_bench [--json] [--messages N]     N 1000 .. 1000000, default 200000
// Each line is a rate of one run on this machine; compare lines of one run, not runs of different machines.
#include <charconv>
#include <cstdio>
#include <map>
#include <thread>

#include "sluice/embedded_redis.h"
#include "sluice/plugin_loader.h"

#include "bench_kit.h"

namespace {

using namespace sluice;         // NOLINT(google-build-using-namespace): a program of one file
using namespace sluice::bench;  // NOLINT(google-build-using-namespace)

struct Line {
  std::string name;
  std::size_t messages = 0;
  double seconds = 0;
};

std::vector<Admission> admissions(std::size_t count) {
  std::vector<Admission> all;
  for (std::size_t k = 1; k <= count; ++k) {
    const auto number = static_cast<std::int64_t>(k);
    all.push_back({OrderId(number), UserId(number), VoucherId(1), 1, fromMillis(1767225600000 + number)});
  }
  return all;
}

// Each slot receives and settles until nothing comes any more.
void consume(OrderQueue& queue, std::size_t slot, std::size_t batchMax) {
  std::vector<Settlement> settlements;
  while (true) {
    const auto batch = need(queue.receive(slot, batchMax, Deadline::in(milliseconds(0))));
    if (batch.empty()) return;
    settlements.clear();
    for (const Delivery& delivery : batch) {
      settlements.push_back({.token = delivery.token, .kind = SettleKind::Done, .reason = {}});
    }
    (void)need(queue.settle(slot, settlements, soon()));
  }
}

void publish(OrderQueue& queue, const std::vector<Admission>& all, std::size_t chunk) {
  for (std::size_t from = 0; from < all.size(); from += chunk) {
    const auto part = std::span(all).subspan(from, std::min(chunk, all.size() - from));
    if (queue.traits().reserves && need(queue.reserve(part.size())) < part.size()) {
      throw std::runtime_error("no room");
    }
    need(queue.publish(messagesOf(part), soon()));
  }
}

// As the program does it: from the library, through the option table and the factory.
std::unique_ptr<OrderQueue> load(PluginLoader& loader, const std::string& name,
                                 const std::map<std::string, std::string>& given, const RedisTarget& redis,
                                 std::size_t slots) {
  const PluginDescriptor& plugin = *need(loader.load(PluginKind::Queue, name));
  std::vector<ConfigFault> faults;
  const OptionMap options =
      checkOptions({plugin.options, plugin.optionCount}, given, "queue." + name + ".", faults);
  if (!faults.empty()) throw std::runtime_error(faults[0].key + ": " + faults[0].text);
  return need(plugin.makeQueue({.options = options,
                                .log = noLog(),
                                .clock = systemClock(),
                                .random = systemRandom(),
                                .redis = redis,
                                .keyPrefix = "bench",
                                .instance = "bench",
                                .consumers = slots,
                                .journal = name == "stream",
                                .journalMax = 10000000}));
}

void measure(OrderQueue& queue, const std::string& name, std::size_t messages, std::size_t slots,
             std::vector<Line>& lines) {
  need(queue.start(soon()));
  for (const std::size_t batchMax : {std::size_t{1}, std::size_t{50}, limits::kReceiveBatchMax}) {
    // One by one is a hundred times slower: fewer of them tell as much.
    const auto all = admissions(batchMax == 1 ? messages / 20 : messages);
    lines.push_back(
        {name + ".publish", all.size(), secondsOf([&] { publish(queue, all, limits::kReceiveBatchMax); })});
    const double seconds = secondsOf([&] {
      std::vector<std::thread> threads;
      for (std::size_t slot = 0; slot < slots; ++slot) {
        threads.emplace_back([&, slot] { consume(queue, slot, batchMax); });
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
    });
    lines.push_back(
        {name + ".receive_and_settle.batch_" + std::to_string(batchMax) + ".slots_" + std::to_string(slots),
         all.size(), seconds});
  }
  queue.close();
}

void print(const std::vector<Line>& lines, bool json) {
  if (json) std::printf("[\n");
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    const double rate = static_cast<double>(line.messages) / line.seconds;
    std::printf(json ? "  {\"name\": \"%s\", \"messages\": %zu, \"per_second\": %.0f}%s\n"
                     : "%-55s %8zu messages %12.0f /s%s\n",
                line.name.c_str(), line.messages, rate, json && k + 1 < lines.size() ? "," : "");
  }
  if (json) std::printf("]\n");
}

// Every queue with one and two slots, on a Redis of its own.
std::vector<Line> measureAll(const std::string& folder, std::size_t messages) {
  std::vector<Line> lines;
  const auto redis = need(EmbeddedRedis::start({.dataDir = folder}, noLog(), soon()));
  RedisTarget target;
  target.socketPath = EmbeddedRedis::socketPath(folder);
  PluginLoader loader(SLUICE_PLUGIN_DIR);
  for (const std::size_t slots : {std::size_t{1}, std::size_t{2}}) {
    measure(*load(loader, "stream", {}, target, slots), "stream", messages, slots, lines);
  }
  for (const std::size_t slots : {std::size_t{1}, std::size_t{2}}) {
    measure(*load(loader, "inproc", {{"capacity", std::to_string(messages)}}, target, slots), "inproc",
            messages, slots, lines);
  }
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  std::size_t messages = 200000;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--json") {
      json = true;
    } else if (word == "--messages" && k + 1 < argc) {
      const std::string_view digits = argv[++k];
      std::from_chars(digits.data(), digits.data() + digits.size(), messages);
    } else {
      std::fprintf(stderr, "usage: queue_bench [--json] [--messages N]\n");
      return 2;
    }
  }
  messages = std::clamp<std::size_t>(messages, 1000, 1000000);

  try {
    const Folder folder;
    print(measureAll(folder.path(), messages), json);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "queue_bench: %s\n", error.what());
    return 1;
  }
}
