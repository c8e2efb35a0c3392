-- Applies newer settings to a loaded voucher; the stock moves by the change of what is allocated.
--
-- KEYS   1 voucher, 2 holds, 3 eligible, 4 idempotency keys
-- ARGV   1 version, 2 begin (ms), 3 end (ms), 4 limit, 5 state, 6 eligible only (1 or 0), 7 allocated,
--        8 retention (ms)
-- Reply  'applied', 'not_newer', 'not_loaded', 'stock_too_low', or an array with the reason why the voucher
--        cannot be read
--
-- A broken sum is neither repaired nor hidden: the voucher stays frozen. Redis does not refuse PEXPIREAT
-- for lack of memory, and nothing after a script's first write, so a sale can be paused and closed also
-- when memory is full.

local v, absent = readVoucher(KEYS[1])
if not v then
  if absent == 'absent' then return 'not_loaded' end
  return { absent }
end
if tonumber(ARGV[1]) <= v.version then return 'not_newer' end
local stock = v.stock + tonumber(ARGV[7]) - v.allocated
if stock < 0 then return 'stock_too_low' end

local time = redis.call('TIME')
local expires = math.max(tonumber(ARGV[3]), tonumber(time[1]) * 1000) + tonumber(ARGV[8])
for k = 1, 4 do expireAt(KEYS[k], expires) end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'begin', ARGV[2], 'end', ARGV[3], 'limit', ARGV[4], 'state', ARGV[5], 'eligible',
  ARGV[6], 'allocated', ARGV[7], 'stock', string.format('%.0f', stock), 'expires', string.format('%.0f', expires))
return 'applied'
