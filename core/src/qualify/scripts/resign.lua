-- Gives the forwarder's lease up.
--
-- KEYS   1 the lease
-- ARGV   1 owner
-- Reply  1: given up; 0: it was not the owner's; or { why } where the key is somebody else's

local kind = typeOf(KEYS[1])
if kind == 'none' then return 0 end
if kind ~= 'string' then return { 'the key of the lease is a ' .. kind .. ', not a string' } end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
