-- Reads a voucher's numbers in one step. Writes nothing.
--
-- KEYS   1 voucher, 2 holds
-- Reply  'not_loaded'; or { version, allocated, stock, held, state, users that hold }; or { why } where the
--        keys cannot be read

local v, absent = readVoucher(KEYS[1])
if not v then
  if absent == 'absent' then return 'not_loaded' end
  return { absent }
end
local kind = typeOf(KEYS[2])
if kind ~= 'hash' and kind ~= 'none' then return { 'the holds key is a ' .. kind .. ', not a hash' } end
return { v.version, v.allocated, v.stock, v.held, v.state, redis.call('HLEN', KEYS[2]) }
