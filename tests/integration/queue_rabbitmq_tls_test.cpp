// queue_rabbitmq over TLS, at a broker that trusts a certificate authority of this test's own.
#include "rabbitmq_fixture.h"
#include "support/private_ca.h"

namespace sluice::test {

namespace {

// One for all tests of this file.
struct TlsBroker {
  PrivateCa ca;
  PrivateCa stranger;
  PrivateCa::Pair own = ca.issue("client", "DNS:client");
  PrivateCa::Pair foreign = stranger.issue("client", "DNS:client");
  PrivateRabbitmq server;
  TlsBroker() : server(optionsOf(ca)) {}
  static RabbitmqTls optionsOf(const PrivateCa& ca) {
    // Without the name "127.0.0.1": who asks for that is told that it is not the one.
    const PrivateCa::Pair pair = ca.issue("server", "DNS:localhost");
    return {.authority = ca.authority(), .certificate = pair.certificate, .key = pair.key};
  }
};

TlsBroker& tlsBroker() {
  static TlsBroker only;
  return only;
}

rabbitmq::Settings settingsWithTls() {
  static int count = 0;
  TlsBroker& there = tlsBroker();
  rabbitmq::Settings settings;
  settings.host = "localhost";
  settings.port = there.server.tlsPort();
  settings.name = "tls" + std::to_string(++count);
  settings.tls = {.on = true,
                  .authority = there.ca.authority(),
                  .certificate = there.own.certificate,
                  .key = there.own.key};
  return settings;
}

Status startWith(const rabbitmq::Settings& settings) {
  CountingLog log;
  rabbitmq::RabbitQueue queue(settings, log, systemClock(), systemRandom());
  return queue.start(Deadline::in(kSoon));
}

}  // namespace

TEST(RabbitTls, Q49_CarriesMessagesWhereBothTrustEachOther) {
  CountingLog log;
  rabbitmq::RabbitQueue queue(settingsWithTls(), log, systemClock(), systemRandom());
  const Status started = queue.start(Deadline::in(kSoon));
  ASSERT_TRUE(started.ok()) << started.error().text;
  ASSERT_TRUE(publishTo(queue, admissionsOf(1, 2000), Deadline::in(kSoon)).ok());
  EXPECT_EQ(ordersOf(takeFrom(queue, 0, 2000)), numbers(1, 2000));
}

TEST(RabbitTls, Q49_AServerThatNobodyVouchesForIsRefused) {
  rabbitmq::Settings settings = settingsWithTls();
  settings.tls.authority = tlsBroker().stranger.authority();
  const Status refused = startWith(settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << refused.error().text;
  settings.tls.verify = false;
  const Status unverified = startWith(settings);
  EXPECT_TRUE(unverified.ok()) << unverified.error().text;
}

TEST(RabbitTls, Q49_AServerOfAnotherNameIsRefused) {
  rabbitmq::Settings settings = settingsWithTls();
  settings.host = "127.0.0.1";
  const Status refused = startWith(settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured) << refused.error().text;
}

TEST(RabbitTls, Q49_AClientThatTheServerDoesNotTrustGetsNothing) {
  rabbitmq::Settings settings = settingsWithTls();
  settings.tls.certificate = tlsBroker().foreign.certificate;
  settings.tls.key = tlsBroker().foreign.key;
  EXPECT_FALSE(startWith(settings).ok());
  settings.tls.certificate = settings.tls.key = "";
  EXPECT_FALSE(startWith(settings).ok());
}

TEST(RabbitTls, Q49_FilesThatAreNoneAreNamed) {
  rabbitmq::Settings settings = settingsWithTls();
  settings.tls.authority = "/nowhere/ca.pem";
  const Status refused = startWith(settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Misconfigured);
  EXPECT_NE(refused.error().text.find("tls"), std::string::npos) << refused.error().text;
}

TEST(RabbitTls, Q49_NoTlsWhereItIsWantedIsRefusedAtOnce) {
  rabbitmq::Settings settings = settingsWithTls();
  settings.tls = {};
  settings.port = tlsBroker().server.tlsPort();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(startWith(settings).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon);
}

}  // namespace sluice::test
