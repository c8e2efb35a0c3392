// An engine that stops for ever at a named call of its queue or store, for tests that kill it there.
//
// usage: stopping_server CALL VOUCHER USERS key=value ...
// Creates the voucher with a piece for each user, lets users 1 .. USERS order one each, and writes a line for
// each that is admitted, "admitted USER ORDER", then "asked". The first thread that comes to CALL ("persist",
// "settle") writes "stopped" and never returns, nor does any other.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include <unistd.h>

#include "support/faulty_engine.h"

namespace {

using namespace sluice;
using namespace sluice::test;

std::mutex outMutex;

void say(const std::string& line) {
  const std::lock_guard lock(outMutex);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Settings settingsOf(int count, char** words) {
  Settings settings;
  for (int k = 0; k < count; ++k) {
    const std::string word = words[k];
    const std::size_t equals = word.find('=');
    settings.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return settings;
}

void stopAt(FaultyEngine& engine, const std::string& call) {
  const auto hook = [call](std::string_view name) {
    if (name != call) return;
    say("stopped");
    while (true) {
      ::pause();
    }
  };
  engine.queue().faults.onCall(hook);
  engine.store().faults.onCall(hook);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const VoucherId voucher(std::atoll(argv[2]));
  const std::int64_t users = std::atoll(argv[3]);
  FaultyEngine engine(settingsOf(argc - 4, argv + 4));
  engine.start();
  engine.sell(voucher, users);
  stopAt(engine, argv[1]);
  const auto answers = engine.orderAll(voucher, users);
  for (std::size_t k = 0; k < answers.size(); ++k) {
    if (answers[k].verdict != Verdict::Admitted) continue;
    say("admitted " + std::to_string(k + 1) + " " + answers[k].order.text());
  }
  say("asked");
  while (true) {
    ::pause();
  }
}
