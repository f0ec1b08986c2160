-- Returns a published quota, or takes the lock to read it.
--
-- KEYS: the quota, the lock.
-- ARGV: the id of the reader, the lifetime of the lock in milliseconds.
--
-- Returns {'found', quota, remaining milliseconds}; {'read'} when the reader has the lock; {'wait'} when another has.

local quota_key, lock_key = KEYS[1], KEYS[2]
local reader, lock_ms = ARGV[1], ARGV[2]

-- A published quota is still valid, because its key expires with it.
local quota = redis.call('GET', quota_key)
if quota then return {'found', quota, redis.call('PTTL', quota_key)} end

-- One reader takes the lock.
if redis.call('SET', lock_key, reader, 'NX', 'PX', lock_ms) then return {'read'} end
return {'wait'}
