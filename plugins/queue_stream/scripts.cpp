// The Lua sources; see scripts.h for arguments and replies.
#include "scripts.h"

namespace sluice::stream {

namespace {

// `ask` answers nil where the group is gone and raises every other error as Redis words it (hence the second
// call).
constexpr std::string_view kPrelude = R"lua(
local journal, failures, retry, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local group = ARGV[1]
local later = '~later'
local function ask(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'NOGROUP', 1, true) then return nil end
    return redis.call(...)
  end
  return reply
end
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
)lua";

// `mine` looks the settlements up: those still pending for this consumer, in the very delivery that is named,
// come back as a list of {position, id, deliveries}; `verdicts` holds "1" for them and "0" for the rest. One
// range query covers them all, because a consumer owns little else; where it owns much more in between, each
// id is asked for by itself.
constexpr std::string_view kMine = R"lua(
local function mine(first, stride)
  local me, count = ARGV[2], (#ARGV - first + 1) / stride
  local deliveries = {}
  local page = ask('XPENDING', journal, group, ARGV[3], ARGV[4], count + 64, me)
  if not page then return nil end
  for _, entry in ipairs(page) do deliveries[entry[1]] = entry[4] end
  local complete = #page < count + 64
  local found, verdicts = {}, {}
  for at = first, #ARGV, stride do
    local id = ARGV[at]
    if not complete and deliveries[id] == nil then
      local one = redis.call('XPENDING', journal, group, id, id, 1, me)
      if one[1] then deliveries[id] = one[1][4] end
    end
    if deliveries[id] and deliveries[id] == tonumber(ARGV[at + 1]) then
      found[#found + 1] = {at, id, deliveries[id]}
      deliveries[id] = false
      verdicts[#verdicts + 1] = '1'
    else
      verdicts[#verdicts + 1] = '0'
    end
  end
  return found, table.concat(verdicts)
end
local function idsOf(found)
  local ids = {}
  for k, entry in ipairs(found) do ids[k] = entry[2] end
  return ids
end
)lua";

// A batch under construction. `consider` takes a pending entry {id, consumer, idle, deliveries} or answers
// false where the batch ends before it; one that was delivered often must be alone. `claim` makes the batch
// ours, which counts a delivery, and drops those whose entry was deleted from the stream by somebody else
// (6.2 answers nil for them, 7.0 leaves them out).
constexpr std::string_view kBatch = R"lua(
local ids, counts, alone = {}, {}, false
local function consider(entry, max, isolateFrom)
  local count = entry[4] + 1
  if alone or #ids >= max or (count >= isolateFrom and #ids > 0) then return false end
  ids[#ids + 1], counts[#counts + 1] = entry[1], count
  alone = count >= isolateFrom
  return true
end
local function claim(me)
  local entries, vanished, fields = {}, 0, {}
  if #ids == 0 then return entries, vanished end
  for _, entry in ipairs(redis.call('XCLAIM', journal, group, me, 0, unpack(ids))) do
    if entry and entry[2] then fields[entry[1]] = entry[2] end
  end
  for k, id in ipairs(ids) do
    if fields[id] then
      entries[#entries + 1] = {id, counts[k], tonumber(redis.call('HGET', failures, id) or 0), fields[id]}
    else
      vanished = vanished + 1
      redis.call('XACK', journal, group, id)
      redis.call('HDEL', failures, id)
    end
  end
  return entries, vanished
end
)lua";

// What stands in a key's place is somebody's: it is named and left alone.
constexpr std::string_view kEnsure = R"lua(
for k, kind in ipairs({'stream', 'hash', 'zset', 'stream'}) do
  local found = redis.call('TYPE', KEYS[k]).ok
  if found ~= 'none' and found ~= kind then return {'strange', KEYS[k], found, kind} end
end
-- Looked for before it is made: with full memory Redis refuses to make what is there already.
if redis.call('EXISTS', journal) == 1 then
  for _, found in ipairs(redis.call('XINFO', 'GROUPS', journal)) do
    if found[2] == group then return {'exists'} end
  end
end
local made = redis.pcall('XGROUP', 'CREATE', journal, group, '0', 'MKSTREAM')
if made.err then return made end
redis.call('DEL', failures, retry)
return {'created'}
)lua";

constexpr std::string_view kDone = R"lua(
local found, verdicts = mine(5, 2)
if not found then return {'nogroup'} end
if #found > 0 then
  local done, repeated = idsOf(found), {}
  for _, entry in ipairs(found) do
    if entry[3] > 1 then repeated[#repeated + 1] = entry[2] end
  end
  redis.call('XACK', journal, group, unpack(done))
  redis.call('XDEL', journal, unpack(done))
  if #repeated > 0 then redis.call('HDEL', failures, unpack(repeated)) end
end
return {'ok', verdicts}
)lua";

constexpr std::string_view kLater = R"lua(
local found, verdicts = mine(5, 4)
if not found then return {'nogroup'} end
local t = now()
for _, entry in ipairs(found) do
  redis.call('ZADD', retry, t + tonumber(ARGV[entry[1] + 2]), entry[2])
  if ARGV[entry[1] + 3] == '1' then redis.call('HINCRBY', failures, entry[2], 1) end
end
if #found > 0 then
  local args = idsOf(found)
  args[#args + 1] = 'JUSTID'
  redis.call('XCLAIM', journal, group, later, 0, unpack(args))
end
return {'ok', verdicts}
)lua";

// Entries that are not exactly one field `o` are kept whole, as netstrings of their fields and values.
constexpr std::string_view kDead = R"lua(
local found, verdicts = mine(9, 3)
if not found then return {'nogroup'} end
if #found > 0 and redis.call('XLEN', dead) + #found > tonumber(ARGV[5]) then return {'full'} end
for _, entry in ipairs(found) do
  local stored = redis.call('XRANGE', journal, entry[2], entry[2])[1]
  if stored then
    local fields, bytes = stored[2], nil
    if #fields == 2 and fields[1] == 'o' then
      bytes = fields[2]
    else
      for k, field in ipairs(fields) do fields[k] = #field .. ':' .. field .. ',' end
      bytes = table.concat(fields)
    end
    bytes = string.sub(bytes, 1, tonumber(ARGV[7]))
    local order = ARGV[8] == '1' and string.match(bytes, '^1 (%d+) ') or ''
    redis.call('XADD', dead, '*', 'bytes', bytes, 'reason', ARGV[entry[1] + 2], 'deliveries', entry[3],
               'failures', redis.call('HGET', failures, entry[2]) or '0', 'at', ARGV[6], 'order', order)
  end
  redis.call('XACK', journal, group, entry[2])
  redis.call('XDEL', journal, entry[2])
  redis.call('HDEL', failures, entry[2])
end
return {'ok', verdicts}
)lua";

constexpr std::string_view kExtend = R"lua(
local found, verdicts = mine(5, 2)
if not found then return {'nogroup'} end
if #found > 0 then
  local args = idsOf(found)
  args[#args + 1] = 'JUSTID'
  redis.call('XCLAIM', journal, group, ARGV[2], 0, unpack(args))
end
return {'ok', verdicts}
)lua";

constexpr std::string_view kRecover = R"lua(
local me, start, max, isolateFrom = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local page = ask('XPENDING', journal, group, start, '+', max, me)
if not page then return {'nogroup'} end
for _, entry in ipairs(page) do
  if not consider(entry, max, isolateFrom) then break end
end
local last = ids[#ids] or ''
local entries, vanished = claim(me)
return {'ok', last, vanished, entries}
)lua";

// First what is due for a retry, then what dead consumers left. A consumer's record goes only where it owns
// nothing. Entries waiting for a retry are taken without their set's word only after the longest delay has
// surely passed (somebody deleted the set).
constexpr std::string_view kPoll = R"lua(
local me, max, isolateFrom, lease = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local t = now()
local more = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', retry, '-inf', t, 'LIMIT', 0, max)) do
  local waiting = ask('XPENDING', journal, group, id, id, 1, later)
  if not waiting then return {'nogroup'} end
  if waiting[1] and not consider(waiting[1], max, isolateFrom) then break end
  redis.call('ZREM', retry, id)
end
local function takeOver(consumer, idle)
  local left = ask('XPENDING', journal, group, 'IDLE', idle, '-', '+', max, consumer)
  for _, entry in ipairs(left) do
    if not consider(entry, max, isolateFrom) then more = 1 break end
  end
  if #left == max then more = 1 end
end
if ARGV[6] == '1' and #ids == 0 then
  local consumers = ask('XINFO', 'CONSUMERS', journal, group)
  if not consumers then return {'nogroup'} end
  for _, facts in ipairs(consumers) do
    local is = {}
    for k = 1, #facts, 2 do is[facts[k]] = facts[k + 1] end
    if is.name == later then
      if is.pending > redis.call('ZCARD', retry) then takeOver(later, ARGV[7]) end
    elseif is.pending > 0 then
      takeOver(is.name, lease)
    elseif is.name ~= me and is.idle > tonumber(ARGV[8]) then
      redis.call('XGROUP', 'DELCONSUMER', journal, group, is.name)
    end
  end
end
local nextRetry = redis.call('ZRANGE', retry, 0, 0, 'WITHSCORES')
local untilNext = nextRetry[2] and math.max(0, tonumber(nextRetry[2]) - t) or -1
local entries, vanished = claim(me)
return {'ok', untilNext, more, vanished, entries}
)lua";

constexpr std::string_view kHandBack = R"lua(
local page = ask('XPENDING', journal, group, '-', '+', 500, ARGV[2])
if not page then return {'nogroup'} end
if #page > 0 then
  local t, args = now(), {}
  for k, entry in ipairs(page) do
    redis.call('ZADD', retry, t, entry[1])
    args[k] = entry[1]
  end
  args[#args + 1] = 'JUSTID'
  redis.call('XCLAIM', journal, group, later, 0, unpack(args))
end
return {'ok', #page}
)lua";

constexpr std::string_view kPublish = R"lua(
local max = tonumber(ARGV[1])
if max >= 0 and redis.call('XLEN', KEYS[1]) + tonumber(ARGV[2]) > max then return {'full'} end
for k = 3, #ARGV do redis.call('XADD', KEYS[1], '*', 'o', ARGV[k]) end
return {'ok'}
)lua";

constexpr std::string_view kReplay = R"lua(
local journal, dead = KEYS[1], KEYS[4]
local letter = redis.call('XRANGE', dead, ARGV[1], ARGV[1])[1]
if not letter then return {'gone'} end
if redis.call('XLEN', journal) >= tonumber(ARGV[2]) then return {'full'} end
for k = 1, #letter[2], 2 do
  if letter[2][k] == 'bytes' then redis.call('XADD', journal, '*', 'o', letter[2][k + 1]) end
end
redis.call('XDEL', dead, ARGV[1])
return {'ok'}
)lua";

constexpr std::string_view kStats = R"lua(
local pending, waiting = 0, 0
local summary = ask('XPENDING', journal, group)
if summary and summary[1] > 0 then
  pending = summary[1]
  for _, owner in ipairs(summary[4]) do
    if owner[1] == later then waiting = tonumber(owner[2]) end
  end
end
local first = redis.call('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
local age = 0
if first then age = math.max(0, now() - tonumber(string.match(first[1], '^%d+'))) end
return {'ok', redis.call('XLEN', journal), pending, waiting, redis.call('XLEN', dead), age}
)lua";

RedisScript make(std::string_view name, std::initializer_list<std::string_view> parts) {
  std::string source;
  for (const std::string_view part : parts) {
    source += part;
  }
  return {"queue_stream." + std::string(name), std::move(source)};
}

}  // namespace

const Scripts& scripts() {
  static const Scripts all = {
      .ensure = make("ensure", {kPrelude, kEnsure}),
      .done = make("done", {kPrelude, kMine, kDone}),
      .later = make("later", {kPrelude, kMine, kLater}),
      .dead = make("dead", {kPrelude, kMine, kDead}),
      .extend = make("extend", {kPrelude, kMine, kExtend}),
      .recover = make("recover", {kPrelude, kBatch, kRecover}),
      .poll = make("poll", {kPrelude, kBatch, kPoll}),
      .handBack = make("hand_back", {kPrelude, kHandBack}),
      .publish = make("publish", {kPublish}),
      .replay = make("replay", {kReplay}),
      .stats = make("stats", {kPrelude, kStats}),
  };
  return all;
}

}  // namespace sluice::stream
