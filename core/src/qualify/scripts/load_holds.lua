-- Prepares the holds of a voucher that is being loaded: adds a page of live orders to a temporary key.
--
-- KEYS   1 temporary holds
-- ARGV   1 life of the temporary key (ms), then for each order: order, user, pieces
-- Reply  { pieces added, users that were new }. An order that is there already is not added again.

local FIRST = 2
local held, changed = {}, {}
local added, newUsers = 0, 0
for k = FIRST, #ARGV, 3 do
  local order, user, pieces = ARGV[k], ARGV[k + 1], ARGV[k + 2]
  if held[user] == nil then
    held[user] = redis.call('HGET', KEYS[1], user)
    if not held[user] then newUsers = newUsers + 1 end
  end
  if not findHold(held[user], order) then
    held[user] = held[user] and (held[user] .. ',' .. holdOf(order, pieces)) or holdOf(order, pieces)
    changed[user] = true
    added = added + tonumber(pieces)
  end
end
local fields = {}
for user in pairs(changed) do
  fields[#fields + 1] = user
  fields[#fields + 1] = held[user]
end
if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return { added, newUsers }
