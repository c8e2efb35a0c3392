-- Decides a batch of requests for one voucher in order of arrival, each seeing the earlier ones, and takes
-- the stock.
--
-- KEYS   1 voucher, 2 holds, 3 eligible, 4 idempotency keys, 5 journal
-- ARGV   1 voucher id, 2 now (ms), 3 journal.max (0: no journal), then for each request: order, user,
--        quantity, idempotency key or ''
-- Reply  { answers } or { answers, why } where the voucher is frozen. `answers` has one word for each
--        request, a blank between: "<verdict>", or "<verdict>:<order>" where an earlier order is the
--        answer. A plain "0" is a fresh admission.
--
-- Three parts: first all keys, types and sums are checked, then every request is decided in memory, then
-- the results are written by commands that cannot fail any more. Redis refuses for lack of memory or disk
-- only at a script's first write, so it is all or nothing. The loops are bounded by the batch, at most 64
-- requests.

local FIRST, STRIDE = 4, 4
local voucherId, now, journalMax = ARGV[1], ARGV[2], tonumber(ARGV[3])
local count = (#ARGV - FIRST + 1) / STRIDE

local function sameForAll(verdict, why)
  local answers = {}
  for k = 1, count do answers[k] = verdict end
  return { table.concat(answers, ' '), why }
end

-- Part 1: check.

local v, absent = readVoucher(KEYS[1])
if not v then
  if absent == 'absent' then return sameForAll(NOT_FOUND) end
  return sameForAll(FROZEN, absent)
end
local holdsKind, idempotencyKind = typeOf(KEYS[2]), typeOf(KEYS[4])
local fault = faultOf(v, holdsKind)
if fault then return sameForAll(FROZEN, fault) end
if idempotencyKind ~= 'hash' and idempotencyKind ~= 'none' then
  return sameForAll(FROZEN, 'the idempotency key is a ' .. idempotencyKind .. ', not a hash')
end
if v.eligibleOnly then
  local kind = typeOf(KEYS[3])
  if kind ~= 'set' and kind ~= 'none' then return sameForAll(FROZEN, 'the eligible key is a ' .. kind .. ', not a set') end
end
local room = math.huge  -- entries that the journal still takes
if journalMax > 0 then
  local kind = typeOf(KEYS[5])
  if kind ~= 'stream' and kind ~= 'none' then return sameForAll(FROZEN, 'the journal is a ' .. kind .. ', not a stream') end
  room = journalMax - redis.call('XLEN', KEYS[5])
end

-- What the whole voucher answers to everybody who has no order yet, or nil while it sells.
local shut = nil
if v.state == 'paused' then
  shut = PAUSED
elseif tonumber(now) < v.begins then
  shut = NOT_STARTED
elseif tonumber(now) >= v.ends or v.state ~= 'on_sale' then
  shut = ENDED
end

local users, asked, askedAt = {}, {}, {}
for k = 1, count do
  local at = FIRST + (k - 1) * STRIDE
  users[k] = ARGV[at + 1]
  if ARGV[at + 3] ~= '' then
    asked[#asked + 1] = ARGV[at + 1] .. ':' .. ARGV[at + 3]
    askedAt[k] = #asked
  end
end
local held = {}  -- user -> text of the holds, or false
local known = holdsKind == 'hash' and redis.call('HMGET', KEYS[2], unpack(users)) or {}
for k = 1, count do held[users[k]] = known[k] or false end
local answered = {}  -- "<user>:<key>" -> "<order>:<quantity>", or false
local released = {}  -- order -> the user whose hold of it was given back, or false
if idempotencyKind == 'hash' then
  local fields = { unpack(asked) }
  for k = 1, count do fields[#asked + k] = ARGV[FIRST + (k - 1) * STRIDE] end
  known = redis.call('HMGET', KEYS[4], unpack(fields))
  for k = 1, #asked do answered[fields[k]] = known[k] end
  for k = #asked + 1, #fields do released[fields[k]] = known[k] end
end

-- Part 2: decide. Changes nothing in Redis.

local stock, taken = v.stock, 0
local pieces, newest = {}, {}  -- user -> sum and newest order of the holds, read when needed
local changed, entries = {}, {}
local newAnswers = {}

-- The first answer to this order id or idempotency key, or nil.
local function firstAnswer(order, user, quantity, question)
  if findHold(held[user], order) then return ADMITTED .. ':' .. order end
  if released[order] == user then return ADMITTED .. ':' .. order end
  local before = question and answered[question]
  if not before then return nil end
  local firstOrder, firstQuantity = string.match(before, '^(%d+):(%d+)$')
  if not firstOrder then return FROZEN end
  if firstQuantity ~= quantity then return KEY_REUSED end
  return ADMITTED .. ':' .. firstOrder
end

-- The refusal because of the user's limit, or nil: who has a live order learns which, whatever he wants now.
local function overLimit(user, wanted)
  if held[user] and not pieces[user] then
    pieces[user], newest[user] = sumHolds(held[user])
    if not pieces[user] then return FROZEN end
  end
  if (pieces[user] or 0) + wanted <= v.limit then return nil end
  return newest[user] and (ALREADY_ORDERED .. ':' .. newest[user]) or OVER_LIMIT
end

local function take(order, user, quantity, wanted, question)
  stock, taken, room = stock - wanted, taken + wanted, room - 1
  held[user] = held[user] and (held[user] .. ',' .. holdOf(order, quantity)) or holdOf(order, quantity)
  pieces[user], newest[user] = (pieces[user] or 0) + wanted, order
  changed[user] = true
  if question then
    answered[question] = holdOf(order, quantity)
    newAnswers[#newAnswers + 1] = question
    newAnswers[#newAnswers + 1] = answered[question]
  end
  entries[#entries + 1] = '1 ' .. order .. ' ' .. user .. ' ' .. voucherId .. ' ' .. quantity .. ' ' .. now
end

local function decide(order, user, quantity, question)
  local first = firstAnswer(order, user, quantity, question)
  if first then return first end
  local wanted = tonumber(quantity)
  local refusal = overLimit(user, wanted)
  if refusal then return refusal end
  if shut then return shut end
  if v.eligibleOnly and redis.call('SISMEMBER', KEYS[3], user) == 0 then return NOT_ELIGIBLE end
  if stock == 0 then return SOLD_OUT end
  if stock < wanted then return INSUFFICIENT end
  if room <= 0 then return BUSY end
  take(order, user, quantity, wanted, question)
  return ADMITTED
end

local answers = {}
for k = 1, count do
  local at = FIRST + (k - 1) * STRIDE
  answers[k] = decide(ARGV[at], ARGV[at + 1], ARGV[at + 2], askedAt[k] and asked[askedAt[k]])
end
local reply = { table.concat(answers, ' ') }
if taken == 0 then return reply end

-- Part 3: write. The journal first: only there can a command fail for another reason than type, memory or
-- disk, namely when somebody has pushed its ids to the end of their range.

if journalMax > 0 then
  local id = redis.pcall('XADD', KEYS[5], '*', 'o', entries[1])
  local refused = type(id) == 'table'
  if refused and not string.find(id.err, 'exhausted') then return id end
  if refused or string.find(id, string.rep('%d', 16)) == 1 then
    if not refused then redis.call('XDEL', KEYS[5], id) end
    return sameForAll(FROZEN, 'the ids of the journal are at the end of their range')
  end
  for k = 2, #entries do redis.call('XADD', KEYS[5], '*', 'o', entries[k]) end
end
local holds = {}
for user in pairs(changed) do
  holds[#holds + 1] = user
  holds[#holds + 1] = held[user]
end
redis.call('HSET', KEYS[2], unpack(holds))
setCounters(KEYS[1], stock, v.held + taken)
if holdsKind == 'none' then expireAt(KEYS[2], v.expires) end
if #newAnswers > 0 then
  redis.call('HSET', KEYS[4], unpack(newAnswers))
  if idempotencyKind == 'none' then expireAt(KEYS[4], v.expires) end
end
return reply
