-- Takes the forwarder's lease, or renews it where it is the asker's.
--
-- KEYS   1 the lease: a string with its owner, which expires with it; 2 who had it last: a string that stays
-- ARGV   1 owner, 2 length of the lease in milliseconds
-- Reply  { 'taken' | 'kept' | 'other', owner }; or { why } where a key is somebody else's
--
-- Kept is also a lease that ran out while nobody else had it: then nothing has happened without its owner.
-- The delete comes first: Redis does not refuse it for lack of memory, and nothing after a script's first
-- write, so that there is a leader also when memory is full. Only a leader can make it empty again.

local kind = typeOf(KEYS[1])
if kind ~= 'string' and kind ~= 'none' then return { 'the key of the lease is a ' .. kind .. ', not a string' } end
local lastKind = typeOf(KEYS[2])
if lastKind ~= 'string' and lastKind ~= 'none' then
  return { 'the key of the last owner is a ' .. lastKind .. ', not a string' }
end
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return { 'other', owner } end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local last = redis.call('GET', KEYS[2])
if last ~= ARGV[1] then redis.call('SET', KEYS[2], ARGV[1]) end
return { last == ARGV[1] and 'kept' or 'taken', ARGV[1] }
