-- Publishes a quota and releases the lock.
--
-- KEYS: the quota, the lock.
-- ARGV: the id of the reader, the quota (empty when there is none for others), its lifetime in milliseconds.
--
-- Returns 'OK'.

local quota_key, lock_key = KEYS[1], KEYS[2]
local reader, quota, quota_ms = ARGV[1], ARGV[2], ARGV[3]

if quota ~= '' then redis.call('SET', quota_key, quota, 'PX', quota_ms) end

-- A reader that took too long may have lost the lock to another.
if redis.call('GET', lock_key) == reader then redis.call('DEL', lock_key) end
return 'OK'
