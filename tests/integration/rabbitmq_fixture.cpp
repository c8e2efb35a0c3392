// See rabbitmq_fixture.h.
#include "rabbitmq_fixture.h"

#include <iostream>
#include <sstream>
#include <thread>

#include "sluice/plugin.h"

// NOLINTNEXTLINE(readability-identifier-naming): the one symbol of the plugin boundary
extern "C" const sluice::PluginDescriptor* sluice_plugin() noexcept;

namespace sluice::test {

namespace {

std::string nextName() {
  static int count = 0;
  return "test" + std::to_string(++count);
}

std::string binary(const std::string& text) { return "<<\"" + text + "\">>"; }

std::string resource(const std::string& kind, const std::string& name) {
  return "rabbit_misc:r(<<\"/\">>, " + kind + ", " + binary(name) + ")";
}

// What `figure` is of each queue, summed; 0 for one that is gone. Of quorum queues as they are once all that was
// asked of them is done.
enum class Figure : std::uint8_t { All, Out };
std::string counting(const std::vector<std::string>& queues, Figure figure) {
  std::string names;
  for (const std::string& queue : queues)
    names += (names.empty() ? "" : ", ") + resource("queue", queue);
  const bool all = figure == Figure::All;
  const std::string ofQuorum =
      all ? "maps:get(num_messages, O) + maps:get(num_discarded, O, 0)" : "maps:get(num_checked_out, O)";
  const std::string ofClassic = all ? "messages" : "messages_unacknowledged";
  return "lists:sum([case rabbit_amqqueue:lookup(N) of"
         " {ok, Q} -> case amqqueue:get_type(Q) of rabbit_quorum_queue ->"
         " {ok, O, _} = ra:consistent_query(amqqueue:get_pid(Q), fun rabbit_fifo:overview/1), " +
         ofQuorum + "; _ -> [{_, V}] = rabbit_amqqueue:info(Q, [" + ofClassic +
         "]), V end; _ -> 0 end || N <- [" + names + "]]).";
}

std::int64_t number(const std::string& text) {
  char* end = nullptr;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  EXPECT_TRUE(!text.empty() && *end == '\0') << text;
  return value;
}

Status openWith(const std::map<std::string, std::string>& options, Log& log) {
  const PluginDescriptor& plugin = *sluice_plugin();
  std::vector<ConfigFault> faults;
  const OptionMap map =
      checkOptions({plugin.options, plugin.optionCount}, options, "queue.rabbitmq.", faults);
  if (!faults.empty()) return {ErrorCode::Misconfigured, faults[0].key + ": " + faults[0].text};
  auto queue = plugin.makeQueue({.options = map,
                                 .log = log,
                                 .clock = systemClock(),
                                 .random = systemRandom(),
                                 .redis = RedisTarget(),
                                 .keyPrefix = "t",
                                 .instance = "local",
                                 .consumers = 1,
                                 .journal = false,
                                 .journalMax = 1000});
  if (!queue) return queue.error();
  return queue.value()->start(Deadline::in(kSoon));
}

}  // namespace

PrivateRabbitmq& broker() {
  static PrivateRabbitmq only;
  return only;
}

RabbitFixture::RabbitFixture(const QueueNeeds& wanted) : QueueFixture(wanted) {
  broker().resume();
  if (!broker().isUp()) broker().start();
  settings.port = broker().port();
  settings.name = nextName();
  // A frozen process is found out by its heartbeats; there is no lease.
  settings.heartbeat =
      std::max(std::chrono::seconds(2), std::chrono::ceil<std::chrono::seconds>(wanted.lease));
  settings.lease = wanted.lease;
  settings.idle = scaled(settings.idle);
  settings.capacity = wanted.capacity;
  settings.deadMax = static_cast<std::int64_t>(wanted.deadMax);
  if (!wanted.proxied) return;
  proxy_ = std::make_unique<FaultProxy>(ProxiedServer{"", broker().port()});
  settings.port = proxy_->port();
}

RabbitFixture::~RabbitFixture() {
  if (testing::Test::HasFailure()) std::cout << "the queue said: " << log.texts() << '\n';
  broker().resume();
  if (!broker().isUp()) return;
  if (full_) setMemoryFull(false);
  broker().evaluate(
      "[rabbit_amqqueue:delete(Q, false, false, <<\"test\">>) || Q <- rabbit_amqqueue:list(<<\"/\">>)].");
}

std::unique_ptr<OrderQueue> RabbitFixture::make(const std::string&, std::size_t consumers) {
  rabbitmq::Settings own = settings;
  own.consumers = consumers;
  return std::make_unique<rabbitmq::RabbitQueue>(own, log, clock, systemRandom());
}

std::unique_ptr<OrderQueue> RabbitFixture::makeNamed(const std::string& name) {
  rabbitmq::Settings own = settings;
  own.name = name;
  return std::make_unique<rabbitmq::RabbitQueue>(own, log, clock, systemRandom());
}

// What was acknowledged is written by the broker a moment later: read until it stands still.
std::int64_t RabbitFixture::rawDepth() {
  const rabbitmq::Names names(settings.name);
  std::vector<std::string> queues(names.wait.begin(), names.wait.end());
  queues.push_back(names.work);
  queues.push_back(names.alone);
  const auto read = [&] { return number(broker().evaluate(counting(queues, Figure::All))); };
  std::int64_t last = read();
  for (int same = 0; same < 3;) {
    std::this_thread::sleep_for(milliseconds(5));
    const std::int64_t now = read();
    same = now == last ? same + 1 : 0;
    last = now;
  }
  return last;
}

std::optional<RawFigures> RabbitFixture::raw() {
  const rabbitmq::Names names(settings.name);
  RawFigures figures;
  figures.inFlight = number(broker().evaluate(counting({names.work, names.alone}, Figure::Out)));
  figures.deadLetters = number(broker().evaluate(counting({names.dead}, Figure::All)));
  return figures;
}

std::string RabbitFixture::address() const {
  std::ostringstream words;
  words << settings.port << '|' << settings.name << '|' << settings.heartbeat.count() << '|'
        << settings.lease.count() << '|' << settings.idle.count() << '|' << settings.capacity << '|'
        << settings.deadMax;
  return words.str();
}

std::unique_ptr<OrderQueue> joinRabbit(const std::string& address, const std::string&) {
  std::istringstream words(address);
  rabbitmq::Settings own;
  std::int64_t heartbeat = 0, lease = 0, idle = 0;
  char bar = 0;
  words >> own.port >> bar;
  std::getline(words, own.name, '|');
  words >> heartbeat >> bar >> lease >> bar >> idle >> bar >> own.capacity >> bar >> own.deadMax;
  own.heartbeat = std::chrono::seconds(heartbeat);
  own.lease = milliseconds(lease);
  own.idle = milliseconds(idle);
  return std::make_unique<rabbitmq::RabbitQueue>(own, noLog(), systemClock(), systemRandom());
}

// Confirmed and not returned; without exchange or queue there is nothing to put it into.
bool RabbitFixture::inject(const std::string& bytes) {
  rabbitmq::Settings direct = settings;
  direct.port = broker().port();
  rabbitmq::Link link(direct);
  const Deadline deadline = Deadline::in(kSoon);
  const rabbitmq::Names names(settings.name);
  if (!link.open(deadline) || !link.openChannel(1, deadline)) return false;
  amqp_confirm_select(link.raw(), 1);
  if (!link.lastCall() || !link.publish(1, names.exchange, names.work, {.bytes = bytes}, 1)) return false;
  bool taken = true;
  while (taken) {
    const auto event = link.await(deadline);
    taken = event.ok() && event.value().kind != rabbitmq::Event::Kind::ChannelClosed &&
            event.value().kind != rabbitmq::Event::Kind::Returned;
    if (taken && event.value().kind == rabbitmq::Event::Kind::Confirmed) break;
  }
  link.closePolitely(kSoon);
  return taken;
}

void RabbitFixture::cutConnections() {
  broker().evaluate("[exit(P, kill) || P <- rabbit_networking:connections()].");
  // What is published on a connection that is gone has no known outcome; the queue sees it a moment later.
  std::this_thread::sleep_for(milliseconds(50));
}

void RabbitFixture::lose(Loss what) {
  const rabbitmq::Names names(settings.name);
  if (what == Loss::Everything) {
    broker().evaluate("rabbit_exchange:delete(" + resource("exchange", names.exchange) +
                      ", false, <<\"test\">>).");
    broker().deleteQueue(names.dead);
    broker().deleteQueue(names.alone);
    for (const std::string& wait : names.wait)
      broker().deleteQueue(wait);
  }
  // Consumers have no record here but in their queue, which is the one that waits and whose loss is noticed.
  broker().deleteQueue(names.work);
}

void RabbitFixture::setMemoryFull(bool full) {
  full_ = full;
  broker().setMemoryFull(full);
  // Connections hear of it a moment later.
  std::this_thread::sleep_for(milliseconds(300));
}

void RabbitFixture::occupy() {
  const rabbitmq::Names names(settings.name);
  broker().deleteQueue(names.work);
  broker().declareClassicQueue(names.work);
}

bool RabbitFixture::isOccupied() {
  const rabbitmq::Names names(settings.name);
  return broker().evaluate("{ok, Q} = rabbit_amqqueue:lookup(" + resource("queue", names.work) +
                           "), amqqueue:get_type(Q).") == "rabbit_classic_queue";
}

std::vector<WrongOpening> RabbitFixture::wrongOpenings() {
  const std::string secret = "swordfish-42";
  const std::string port = std::to_string(settings.port);
  const auto opening = [this, port](std::map<std::string, std::string> options) {
    options.try_emplace("port", port);
    return [this, options] { return openWith(options, log); };
  };
  return {
      {"a wrong password", opening({{"password", secret}}), "user guest", secret},
      {"a virtual host that is not there", opening({{"vhost", "nowhere"}}), "nowhere", ""},
      {"TLS that nobody can verify", opening({{"tls", "on"}}), "tls.ca", ""},
      {"a certificate without its key", opening({{"tls.certificate", "/tmp/a.pem"}}), "tls.key", ""},
      {"an unknown option", opening({{"hots", "a"}}), "host", ""},
      {"a heartbeat out of range", opening({{"heartbeat", "1ms"}}), "heartbeat", ""},
      {"queues without a name", opening({{"name", ""}}), "queue.rabbitmq.name", ""},
      {"queues of RabbitMQ's own", opening({{"name", "amq.x"}}), "amq.", ""},
  };
}

}  // namespace sluice::test
