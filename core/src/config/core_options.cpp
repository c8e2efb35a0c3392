// The program's own options: the one place where they are declared.
#include <array>

#include "sluice/config.h"

namespace sluice {

namespace {

constexpr bool kPublic = false;
constexpr bool kSecret = true;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"role", OptionType::Choice, "all", "all|front|worker", kPublic,
     "What this process does: `front` takes requests, `worker` fulfils what is queued, `all` does both."},
    {"queue", OptionType::Text, "stream", "..32", kPublic,
     "The queue plugin; its options are `queue.<name>.<key>`. `sluice plugins list` shows what is there."},
    {"store", OptionType::Text, "sqlite", "..32", kPublic,
     "The store plugin; its options are `store.<name>.<key>`."},
    {"plugins.dir", OptionType::Path, "", "", kPublic,
     "Absolute folder of the plugins; empty: `plugins` beside the executable's folder. Nobody but its owner "
     "and group may write there."},
    {"data.dir", OptionType::Path, "sluice-data", "", kPublic,
     "Folder for what this process keeps: the embedded Redis, files of embedded stores, a generated admin "
     "token."},
    {"log.level", OptionType::Choice, "info", "debug|info|warning|error", kPublic,
     "The least important lines that are written."},
    {"log.file", OptionType::Path, "", "", kPublic, "File to append log lines to; empty: standard error."},

    {"redis.embedded", OptionType::Boolean, "false", "", kPublic,
     "Run a private redis-server in `data.dir`, for trying out and small sales. Excludes the settings that "
     "say where Redis is."},
    {"redis.append.fsync", OptionType::Choice, "everysec", "everysec|always", kPublic,
     "How the embedded Redis makes admissions durable: synced every second (L1), or before each answer (L2), "
     "which costs throughput."},
    {"redis.socket", OptionType::Path, "", "", kPublic,
     "Unix socket of Redis; in place of `redis.host` and `redis.port`."},
    {"redis.host", OptionType::Text, "127.0.0.1", "..253", kPublic, "Host of Redis."},
    {"redis.port", OptionType::Integer, "6379", "1..65535", kPublic, "Port of Redis."},
    {"redis.username", OptionType::Text, "", "..128", kPublic,
     "User to enter as; empty: Redis' default user."},
    {"redis.password", OptionType::Text, "", "..1024", kSecret, "Password of that user; empty: none."},
    {"redis.database", OptionType::Integer, "0", "0..65535", kPublic, "Number of the Redis database."},
    {"redis.tls", OptionType::Boolean, "false", "", kPublic,
     "Refused when true: hiredis 0.14 has no TLS. Reach a distant Redis through a local tunnel (stunnel, ssh "
     "-L)."},
    {"redis.prefix", OptionType::Text, "sluice", "..32", kPublic,
     "First part of every key, of letters, digits, `_`, `.` and `-`; gives several installations one Redis."},
    {"redis.connect.timeout", OptionType::Duration, "1s", "10ms..1m", kPublic,
     "Longest wait for a new connection to Redis."},

    {"journal", OptionType::Boolean, "true", "", kPublic,
     "Write each admission to a Redis stream in the same atomic step. Off: what a process holds in memory "
     "dies with it."},
    {"journal.max", OptionType::Integer, "1000000", "1..100000000", kPublic,
     "Most admissions waiting in the journal; beyond it requests are answered busy. One takes about 150 "
     "bytes of Redis' memory."},
    {"forwarder.lease", OptionType::Duration, "5s", "1s..10m", kPublic,
     "How long the process that moves the journal into the queue keeps that office without renewal. Shorter "
     "hands it "
     "on sooner, longer bears longer pauses. Queues that read the journal need none."},
    {"forwarder.stale", OptionType::Duration, "30s", "1s..24h", kPublic,
     "A journal entry of this age that was moved and that the queue seems to have lost is moved again."},
    {"gate.inflight.max", OptionType::Integer, "20000", "1..1000000", kPublic,
     "Most requests at the gate; more are answered busy at once. Raising it costs memory and waiting time."},
    {"gate.batches", OptionType::Integer, "2", "1..64", kPublic,
     "Script calls under way at one time. Redis runs one at a time: a second one hides the way there and "
     "back, more only wait."},
    {"fulfilment.workers", OptionType::Integer, "1", "1..64", kPublic,
     "Threads that store orders. Orders of one voucher wait for each other in the store, so more help only "
     "with many vouchers."},
    {"fulfilment.batch", OptionType::Integer, "500", "1..500", kPublic,
     "Most orders in one transaction. Larger batches are cheaper an order and hold the vouchers' locks for "
     "longer."},
    {"fulfilment.failures.max", OptionType::Integer, "5", "1..1000", kPublic,
     "Failures of one message before it is dead-lettered. The store being away or wrong does not count."},
    {"fulfilment.deliveries.max", OptionType::Integer, "10", "4..10000", kPublic,
     "Deliveries of one message before it is dead-lettered; also counts processes that died over it."},
    {"fulfilment.retry.base", OptionType::Duration, "1s", "1ms..1h", kPublic,
     "Longest pause after the first failure of a message; it doubles with each further one, and each pause "
     "is "
     "drawn anew between nothing and that."},
    {"fulfilment.retry.max", OptionType::Duration, "1m", "1ms..1h", kPublic,
     "Longest pause before a message that failed comes again. Longer spares a store in trouble, and keeps "
     "the "
     "order waiting."},
    {"fulfilment.pace", OptionType::Duration, "0ms", "0ms..1m", kPublic,
     "Pause before each order is stored; for demonstrations of crashes and backlogs."},
    {"orders.pay.within", OptionType::Duration, "15m", "1s..720h", kPublic,
     "Time to pay, from the moment an order is stored; then it is cancelled and its stock returns."},
    {"process.lease", OptionType::Duration, "10s", "2s..10m", kPublic,
     "How long a process number stays reserved without renewal. Shorter frees numbers sooner, longer bears "
     "longer outages of the store."},

    {"http.front", OptionType::Choice, "threaded", "threaded", kPublic,
     "How connections are served. `threaded`: a thread a connection, for a place behind a proxy."},
    {"http.address", OptionType::Text, "127.0.0.1", "..45", kPublic,
     "IP address to listen on, or `localhost`."},
    {"http.port", OptionType::Integer, "8080", "0..65535", kPublic,
     "Port to listen on; 0 takes any free one, for tests."},
    {"http.threads", OptionType::Integer, "256", "1..4096", kPublic,
     "Threads of the threaded front: connections served at one time. Each costs a stack."},
    {"http.queue", OptionType::Integer, "20000", "4096..1000000", kPublic,
     "Accepted connections that wait for a thread of the threaded front."},
    {"http.backlog", OptionType::Integer, "4096", "1..65535", kPublic,
     "Connections that wait in the kernel; the kernel's own limit (net.core.somaxconn) stands above it."},
    {"http.keepalive", OptionType::Duration, "5s", "0ms..10m", kPublic,
     "How long an idle connection stays open; longer spares handshakes and occupies threads of the threaded "
     "front."},
    {"http.request.timeout", OptionType::Duration, "5s", "10ms..1m", kPublic,
     "Longest time for a whole request head, and again for its body, to arrive; who is slower is answered "
     "408."},

    {"auth.mode", OptionType::Choice, "header", "header", kPublic,
     "How the user is known: `header` trusts a header that the proxy in front has set, and must never be "
     "reachable without that proxy."},
    {"auth.header.public", OptionType::Boolean, "false", "", kPublic,
     "Allow `auth.mode = header` on an address that others can reach. Anybody who gets there can order in "
     "anybody's name."},
    {"admin.token", OptionType::Text, "", "..512", kSecret,
     "Bearer token of the admin endpoints, at least 32 bytes. Empty: the admin endpoints are closed."},
    {"admin.token.generate", OptionType::Boolean, "false", "", kPublic,
     "Where no token is given, write a new one to `admin.token` in `data.dir`, mode 0600."},
    {"payment.demo", OptionType::Boolean, "false", "", kPublic,
     "Open `POST /api/v1/orders/{id}/pay`, which marks an order paid without any payment. For trying out."},
});

}  // namespace

std::span<const OptionSpec> coreOptions() noexcept { return kOptions; }

}  // namespace sluice
