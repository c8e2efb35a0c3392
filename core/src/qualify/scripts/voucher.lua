-- What the scripts share: reading a voucher, telling whether its keys can be trusted, and the text of a
-- user's holds.
--
-- It stands in front of the other scripts. A user's holds are "<order>:<pieces>", joined by commas, the
-- oldest first. Ids are always strings: Lua counts in doubles and would round them. Pieces, versions and
-- milliseconds stay far below 2^53.

-- The number in `text`, or nil unless it is a plain whole number of at most 15 digits.
local function whole(text)
  if text and #text <= 16 and string.find(text, '^%-?%d+$') then return tonumber(text) end
  return nil
end

local function typeOf(key)
  return redis.call('TYPE', key).ok
end

-- The voucher as a table, or nil and why: 'absent', or a text for people.
local function readVoucher(key)
  local kind = typeOf(key)
  if kind == 'none' then return nil, 'absent' end
  if kind ~= 'hash' then return nil, 'the voucher key is a ' .. kind .. ', not a hash' end
  local f = redis.call('HMGET', key, 'version', 'begin', 'end', 'limit', 'state', 'eligible', 'allocated', 'stock', 'held', 'expires')
  local v = { state = f[5], eligibleOnly = f[6] == '1', version = whole(f[1]), begins = whole(f[2]), ends = whole(f[3]),
    limit = whole(f[4]), allocated = whole(f[7]), stock = whole(f[8]), held = whole(f[9]), expires = whole(f[10]) }
  if not (v.version and v.begins and v.ends and v.limit and v.state and f[6] and v.expires) then
    return nil, 'a setting of the voucher is missing or unreadable'
  end
  if not (v.allocated and v.stock and v.held) then return nil, 'a counter of the voucher is missing or unreadable' end
  return v
end

-- Why the counters and the holds cannot both be right, or nil. `holdsKind` is the type of the holds key.
local function faultOf(v, holdsKind)
  if holdsKind ~= 'hash' and holdsKind ~= 'none' then return 'the holds key is a ' .. holdsKind .. ', not a hash' end
  if v.stock < 0 or v.held < 0 or v.stock + v.held ~= v.allocated then return 'stock + held is not allocated' end
  if v.held > 0 and holdsKind == 'none' then return 'pieces are held, but the holds are missing' end
  if v.held == 0 and holdsKind == 'hash' then return 'nothing is held, but there are holds' end
  return nil
end

local function holdOf(order, pieces)
  return order .. ':' .. pieces
end

-- Where the text of the order begins in a user's holds (which may be false: none), or nil.
local function findHold(holds, order)
  if not holds then return nil end
  if string.sub(holds, 1, #order + 1) == order .. ':' then return 1 end
  local comma = string.find(holds, ',' .. order .. ':', 1, true)
  return comma and comma + 1
end

-- The sum of pieces of a user's holds and the newest order, or nil where the text is not one of ours. Keeps
-- the order ids out of the loop: a user may have many orders where the limit is high, and making a string
-- of each would take most of the time.
local function sumHolds(holds)
  local sum, last, behind = 0, 0, 1
  for at, pieces, next in string.gmatch(holds .. ',', '()%d+:(%d+),()') do
    if at ~= behind then return nil end
    sum = sum + tonumber(pieces)
    last, behind = at, next
  end
  if behind ~= #holds + 2 then return nil end
  return sum, string.match(holds, '^%d+', last)
end

local function setCounters(key, stock, held)
  redis.call('HSET', key, 'stock', string.format('%.0f', stock), 'held', string.format('%.0f', held))
end

local function expireAt(key, milliseconds)
  redis.call('PEXPIREAT', key, string.format('%.0f', milliseconds))
end
