-- Gives back the holds of orders of one voucher, each at most once.
--
-- KEYS   1 voucher, 2 holds, 3 idempotency keys; without the third, for what reached nobody, nothing is noted
-- ARGV   for each order: order, user
-- Reply  one word for each order, a blank between: "released" or "absent"; or "not_loaded"; or an array
--        with the reason why the keys cannot be read.
--
-- The delete of the hold is the first write and the proof that it counts once. Redis does not refuse HDEL
-- for lack of memory, and nothing after a script's first write, so holds come back also when memory is
-- full. A broken sum does not stop a release: the difference stays visible, and the voucher stays frozen.
-- Each order that is given back is noted beside the idempotency keys, as "<order>" -> "<user>": asked again
-- under its id, it is not admitted a second time.

local v, absent = readVoucher(KEYS[1])
if not v then
  if absent == 'absent' then return 'not_loaded' end
  return { absent }
end
local kind = typeOf(KEYS[2])
if kind ~= 'hash' and kind ~= 'none' then return { 'the holds key is a ' .. kind .. ', not a hash' } end

-- Takes the order out of the user's holds. Answers its pieces, or nil where it is not there.
local function remove(order, user)
  local holds = redis.call('HGET', KEYS[2], user)
  local at = findHold(holds, order)
  if not at then return nil end
  local pieces, rest = string.match(holds, '^%d+:(%d+)()', at)
  if not pieces then return nil end
  redis.call('HDEL', KEYS[2], user)
  local left = string.sub(holds, 1, at - 1) .. string.sub(holds, rest + 1)
  if string.sub(left, -1) == ',' then left = string.sub(left, 1, -2) end
  if left ~= '' then
    redis.call('HSET', KEYS[2], user, left)
    expireAt(KEYS[2], v.expires)  -- the delete may have removed the whole key, and its expiry with it
  end
  return tonumber(pieces)
end

local outcomes, back, notes = {}, 0, {}
for k = 1, #ARGV, 2 do
  local pieces = kind == 'hash' and remove(ARGV[k], ARGV[k + 1])
  back = back + (pieces or 0)
  if pieces then
    notes[#notes + 1] = ARGV[k]
    notes[#notes + 1] = ARGV[k + 1]
  end
  outcomes[#outcomes + 1] = pieces and 'released' or 'absent'
end
if back == 0 then return table.concat(outcomes, ' ') end
setCounters(KEYS[1], v.stock + back, v.held - back)
local notesKind = KEYS[3] and typeOf(KEYS[3])
if notesKind == 'hash' or notesKind == 'none' then
  redis.call('HSET', KEYS[3], unpack(notes))
  if notesKind == 'none' then expireAt(KEYS[3], v.expires) end
end
return table.concat(outcomes, ' ')
