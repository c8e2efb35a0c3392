// The scripts of queue_stream, each one atomic step of Redis.
//
// Role:     Redis 6.2 and 7.0 have no "acknowledge and delete", no "give back", no "renew if still mine".
//           These scripts are that.
// Keys:     always KEYS[1] journal, [2] failures, [3] retry, [4] dead (see StreamKeys), all of one hash
//           slot. Replies: an array; its first element is "ok", "nogroup" (stream or group is gone), "full"
//           or "gone".
// Errors:   commands that may be refused for memory stand before all others that write, so a refusal leaves
//           nothing half done.
#pragma once

#include "sluice/redis.h"

namespace sluice::stream {

// The consumer that owns entries waiting for a retry. No instance can have this name: '~' is not allowed in
// one.
inline constexpr std::string_view kLaterConsumer = "~later";

struct Scripts {
  // ARGV group -> "created" or "exists". Created from id 0; failures and retry of a lost group are forgotten
  // with it. Or "strange", a key, the type it has, the type it should have.
  RedisScript ensure;
  // ARGV group consumer lowest highest {id deliveries}... -> "1" or "0" for each, in one text.
  RedisScript done;
  // ARGV group consumer lowest highest {id deliveries delayMs countsAsFailure}... -> as done.
  RedisScript later;
  // ARGV group consumer lowest highest deadMax nowMs bytesMax nameOrder {id deliveries reason}... -> as done,
  // or "full".
  RedisScript dead;
  // ARGV group consumer lowest highest {id deliveries}... -> as done.
  RedisScript extend;
  // ARGV group consumer start max isolateFrom -> last id looked at ("" at the end), vanished, entries.
  RedisScript recover;
  // ARGV group consumer max isolateFrom leaseMs takeOver orphanIdleMs retireMs -> ms to the next retry or -1,
  // more, vanished, entries.
  RedisScript poll;
  // ARGV group consumer -> how many were handed back; at most 500 in a call.
  RedisScript handBack;
  // ARGV max total packed... -> nothing more, or "full". Max -1: no check.
  RedisScript publish;
  // ARGV id max -> nothing more, or "full" or "gone".
  RedisScript replay;
  // ARGV group -> entries, pending, waiting for a retry, dead, age of the oldest in ms.
  RedisScript stats;
};

// Built once, on first use.
[[nodiscard]] const Scripts& scripts();

}  // namespace sluice::stream
