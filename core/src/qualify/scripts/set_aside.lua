-- Moves entries that nobody can decode from the journal to the dead letters of the partition.
--
-- KEYS   1 journal, 2 dead letters
-- ARGV   1 most dead letters, 2 most bytes kept of an entry, 3 now in milliseconds; then for each entry: id, reason
-- Reply  how many were moved; those without room stay. Or { why } where a key is somebody else's.
--
-- A dead letter looks as queue_stream writes it: an entry of other fields than the one named o is kept whole, as
-- netstrings of its fields and values. The first write deletes nothing: Redis does not refuse it for lack of
-- memory, and nothing after it, so that an entry is never between the two streams.

local kind, deadKind = typeOf(KEYS[1]), typeOf(KEYS[2])
if kind == 'none' then return 0 end
if kind ~= 'stream' then return { 'the journal is a ' .. kind .. ', not a stream' } end
if deadKind ~= 'stream' and deadKind ~= 'none' then
  return { 'the key of the dead letters is a ' .. deadKind .. ', not a stream' }
end

local function bytesOf(fields)
  if #fields == 2 and fields[1] == 'o' then return fields[2] end
  local parts = {}
  for k, field in ipairs(fields) do parts[k] = #field .. ':' .. field .. ',' end
  return table.concat(parts)
end

local moved = 0
local room = tonumber(ARGV[1]) - redis.call('XLEN', KEYS[2])
redis.call('XDEL', KEYS[1], '0-1')
for k = 4, #ARGV, 2 do
  local entry = room > 0 and redis.call('XRANGE', KEYS[1], ARGV[k], ARGV[k])[1]
  if entry then
    local bytes = string.sub(bytesOf(entry[2]), 1, tonumber(ARGV[2]))
    redis.call('XADD', KEYS[2], '*', 'bytes', bytes, 'reason', ARGV[k + 1], 'deliveries', '0', 'failures', '0',
      'at', ARGV[3], 'order', '')
    redis.call('XDEL', KEYS[1], ARGV[k])
    moved, room = moved + 1, room - 1
  end
end
return moved
