-- Forgets idempotency keys, each only where its answer still is the given order.
--
-- KEYS   1 idempotency keys
-- ARGV   for each: "<user>:<key>", order
-- Reply  how many were forgotten, or an array with the reason why the key cannot be read

local kind = typeOf(KEYS[1])
if kind == 'none' then return 0 end
if kind ~= 'hash' then return { 'the idempotency key is a ' .. kind .. ', not a hash' } end
local forgotten = 0
for k = 1, #ARGV, 2 do
  local answer = redis.call('HGET', KEYS[1], ARGV[k])
  if answer and string.match(answer, '^(%d+):') == ARGV[k + 1] then
    forgotten = forgotten + redis.call('HDEL', KEYS[1], ARGV[k])
  end
end
return forgotten
