-- Adds users to those who may order a voucher that is for listed users only.
--
-- KEYS   1 voucher, 2 eligible
-- ARGV   user ids, perhaps none
-- Reply  'added', 'not_loaded', or an array with the reason why the keys cannot be read

local v, absent = readVoucher(KEYS[1])
if not v then
  if absent == 'absent' then return 'not_loaded' end
  return { absent }
end
local kind = typeOf(KEYS[2])
if kind ~= 'set' and kind ~= 'none' then return { 'the eligible key is a ' .. kind .. ', not a set' } end
if #ARGV == 0 then return 'added' end
redis.call('SADD', KEYS[2], unpack(ARGV))
if kind == 'none' then expireAt(KEYS[2], v.expires) end
return 'added'
