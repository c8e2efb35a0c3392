-- Re-creates holds of live orders that a restarted Redis may have lost. What is there is left alone.
--
-- KEYS   1 voucher, 2 holds
-- ARGV   for each order: order, user, pieces
-- Reply  { restored, short }: holds re-created, and holds for which too few pieces were left; or { 0, 0,
--        why } where nothing was done because the voucher's keys contradict each other. A voucher that is
--        not loaded gives { 0, 0 }.

local v, absent = readVoucher(KEYS[1])
if not v then return absent == 'absent' and { 0, 0 } or { 0, 0, absent } end
local kind = typeOf(KEYS[2])
local fault = faultOf(v, kind)
if fault then return { 0, 0, fault } end

local held, changed = {}, {}
local taken, restored, short = 0, 0, 0
for k = 1, #ARGV, 3 do
  local order, user, pieces = ARGV[k], ARGV[k + 1], ARGV[k + 2]
  if held[user] == nil then held[user] = kind == 'hash' and redis.call('HGET', KEYS[2], user) end
  if not findHold(held[user], order) then
    local wanted = tonumber(pieces)
    if v.stock - taken < wanted then
      short = short + 1
    else
      taken, restored = taken + wanted, restored + 1
      held[user] = held[user] and (held[user] .. ',' .. holdOf(order, pieces)) or holdOf(order, pieces)
      changed[user] = true
    end
  end
end
if restored == 0 then return { 0, short } end

local fields = {}
for user in pairs(changed) do
  fields[#fields + 1] = user
  fields[#fields + 1] = held[user]
end
redis.call('HSET', KEYS[2], unpack(fields))
setCounters(KEYS[1], v.stock - taken, v.held + taken)
if kind == 'none' then expireAt(KEYS[2], v.expires) end
return { restored, short }
