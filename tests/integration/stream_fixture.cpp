// See stream_fixture.h.
#include "stream_fixture.h"

#include <sstream>

#include "sluice/plugin.h"

#include "old_redis.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

namespace {

// What the program does with `queue.stream.*` of a configuration.
Status openWith(const std::map<std::string, std::string>& options, const RedisTarget& redis, Log& log) {
  const PluginDescriptor& plugin = *sluice_plugin();
  std::vector<ConfigFault> faults;
  const OptionMap map = checkOptions({plugin.options, plugin.optionCount}, options, "queue.stream.", faults);
  if (!faults.empty()) return {ErrorCode::Misconfigured, faults[0].key + ": " + faults[0].text};
  auto queue = plugin.makeQueue({.options = map,
                                 .log = log,
                                 .clock = systemClock(),
                                 .random = systemRandom(),
                                 .redis = redis,
                                 .keyPrefix = "t",
                                 .instance = "local",
                                 .consumers = 1,
                                 .journal = true,
                                 .journalMax = 1000});
  if (!queue) return queue.error();
  return queue.value()->start(Deadline::in(kSoon));
}

}  // namespace

StreamFixture::StreamFixture(const QueueNeeds& wanted) : QueueFixture(wanted) {
  settings.group = kGroup;
  settings.keyPrefix = "t";
  settings.lease = wanted.lease;
  settings.retire = wanted.retire;
  settings.deadMax = static_cast<std::int64_t>(wanted.deadMax);
  settings.journalMax = wanted.capacity;
  settings.redis = redis.target();
  if (!wanted.proxied) return;
  proxy_ = std::make_unique<FaultProxy>(ProxiedServer{redis.target().socketPath, 0});
  settings.redis.socketPath.clear();
  settings.redis.port = proxy_->port();
}

std::unique_ptr<OrderQueue> StreamFixture::makeWith(const stream::Settings& own) {
  return std::make_unique<stream::StreamQueue>(own, log, clock, systemRandom());
}

std::unique_ptr<OrderQueue> StreamFixture::make(const std::string& instance, std::size_t consumers) {
  stream::Settings own = settings;
  own.instance = instance;
  own.consumers = consumers;
  return makeWith(own);
}

// The program takes fewer prefixes than Redis does; whatever it takes is among these.
std::unique_ptr<OrderQueue> StreamFixture::makeNamed(const std::string& name) {
  stream::Settings own = settings;
  own.keyPrefix = name;
  own.group = name;
  own.instance = name;
  return makeWith(own);
}

std::string StreamFixture::address() const {
  std::ostringstream words;
  words << redis.target().socketPath << '|' << settings.lease.count() << '|' << settings.retire.count() << '|'
        << settings.deadMax << '|' << settings.journalMax;
  return words.str();
}

std::unique_ptr<OrderQueue> joinStream(const std::string& address, const std::string& instance) {
  std::istringstream words(address);
  stream::Settings own;
  own.group = kGroup;
  own.keyPrefix = "t";
  own.instance = instance;
  std::getline(words, own.redis.socketPath, '|');
  std::int64_t lease = 0;
  std::int64_t retire = 0;
  char bar = 0;
  words >> lease >> bar >> retire >> bar >> own.deadMax >> bar >> own.journalMax;
  own.lease = milliseconds(lease);
  own.retire = milliseconds(retire);
  return std::make_unique<stream::StreamQueue>(own, noLog(), systemClock(), systemRandom());
}

std::optional<RawFigures> StreamFixture::raw() {
  RawFigures figures;
  const auto pending = redis.command({"XPENDING", kJournal, kGroup});
  const RedisValue owners = pending.value()[3];
  for (std::size_t k = 0; k < owners.size(); ++k) {
    if (owners[k][0].text() != "~later") figures.inFlight += owners[k][1].integer();
  }
  figures.deadLetters = redis.number({"XLEN", kDead});
  const auto first = redis.command({"XRANGE", kJournal, "-", "+", "COUNT", "1"});
  const auto time = redis.command({"TIME"});
  const std::int64_t now = time.value()[0].integer() * 1000 + time.value()[1].integer() / 1000;
  if (first.value().size() > 0) {
    figures.oldestAge = milliseconds(now - std::stoll(std::string(first.value()[0][0].text())));
  }
  return figures;
}

bool StreamFixture::inject(const std::string& bytes) {
  redis.command({"XADD", kJournal, "*", "o", bytes});
  return true;
}

void StreamFixture::lose(Loss what) {
  if (what == Loss::Everything) redis.command({"FLUSHALL"});
  if (what == Loss::Queue) redis.command({"DEL", kJournal});
  if (what == Loss::Consumers) redis.command({"XGROUP", "DESTROY", kJournal, kGroup});
}

void StreamFixture::occupy() {
  redis.command({"DEL", kJournal});
  redis.command({"SET", kJournal, "a string"});
}

std::vector<WrongOpening> StreamFixture::wrongOpenings() {
  const std::string secret = "swordfish-42";
  RedisTarget locked = settings.redis;
  locked.password = secret;
  RedisTarget encrypted = settings.redis;
  encrypted.tls = true;
  encrypted.password = secret;
  auto old = std::make_shared<OldRedis>("5.0.14");
  const auto opening = [this](const std::map<std::string, std::string>& options, const RedisTarget& target) {
    return [this, options, target] { return openWith(options, target, log); };
  };
  return {
      {"a wrong password", opening({}, locked), "redis at", secret},
      {"TLS, which the client library has not", opening({}, encrypted), "redis.tls", secret},
      {"an unknown option", opening({{"leese", "30s"}}, settings.redis), "lease", ""},
      {"a lease out of range", opening({{"lease", "1ms"}}, settings.redis), "lease", ""},
      {"a group without a name", opening({{"group", ""}}, settings.redis), "queue.stream.group", ""},
      {"a server of another time", [old, inner = opening({}, old->target())] { return inner(); }, "5.0.14",
       ""},
  };
}

}  // namespace sluice::test
