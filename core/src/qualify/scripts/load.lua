-- Brings a voucher into Redis in one step: the prepared holds and eligible users get their names, the
-- settings and counters are set.
--
-- KEYS   1 voucher, 2 holds, 3 eligible, 4 idempotency keys, 5 prepared holds, 6 prepared eligible users
-- ARGV   1 version, 2 begin (ms), 3 end (ms), 4 limit, 5 state, 6 eligible only (1 or 0), 7 allocated,
--        8 pieces in the prepared holds, 9 users in the prepared holds, 10 prepared eligible users,
--        11 retention (ms): how long the keys outlive the end
-- Reply  'loaded', 'keys_exist', 'oversold' (more held than allocated), 'lost' (the prepared keys expired
--        meanwhile)
--
-- A voucher whose end lies behind keeps its keys for the retention from now on, so that it does not vanish
-- at once.

for k = 1, 4 do
  if redis.call('EXISTS', KEYS[k]) == 1 then return 'keys_exist' end
end
local allocated, held = tonumber(ARGV[7]), tonumber(ARGV[8])
if held > allocated then return 'oversold' end

local holders, eligible = tonumber(ARGV[9]), tonumber(ARGV[10])
if redis.call('HLEN', KEYS[5]) ~= holders or redis.call('SCARD', KEYS[6]) ~= eligible then return 'lost' end

local time = redis.call('TIME')
local expires = math.max(tonumber(ARGV[3]), tonumber(time[1]) * 1000) + tonumber(ARGV[11])
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'begin', ARGV[2], 'end', ARGV[3], 'limit', ARGV[4], 'state', ARGV[5], 'eligible',
  ARGV[6], 'allocated', ARGV[7], 'stock', string.format('%.0f', allocated - held), 'held', ARGV[8], 'expires',
  string.format('%.0f', expires))
if held > 0 then redis.call('RENAME', KEYS[5], KEYS[2]) end
if eligible > 0 then redis.call('RENAME', KEYS[6], KEYS[3]) end
for k = 1, 3 do expireAt(KEYS[k], expires) end
return 'loaded'
