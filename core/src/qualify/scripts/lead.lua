-- Takes the forwarder's lease, or renews it where it is the asker's.
--
-- KEYS   1 the lease: a string with its owner, which expires with it
-- ARGV   1 owner, 2 length of the lease in milliseconds
-- Reply  { 'taken' | 'kept' | 'other', owner }; or { why } where the key is somebody else's
--
-- The delete comes first: Redis does not refuse it for lack of memory, and nothing after a script's first
-- write, so that there is a leader also when memory is full. Only a leader can make it empty again.

local kind = typeOf(KEYS[1])
if kind ~= 'string' and kind ~= 'none' then return { 'the key of the lease is a ' .. kind .. ', not a string' } end
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return { 'other', owner } end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return { owner and 'kept' or 'taken', ARGV[1] }
