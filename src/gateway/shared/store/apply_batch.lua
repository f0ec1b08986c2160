-- Makes the changes of a batch that was not made before: all of them, or none when the store rejects one.
--
-- KEYS: the batch, the start of counting, then the tables and the sets of holds.
-- ARGV: the batch as JSON. A `key` is an index in KEYS, an amount is a text, and times are in milliseconds.
--   batch_ms: the time for which the batch is known
--   hold_ms: the lifetime of a hold
--   additions: {key, ends_at_ms, amounts: {{field, amount}}}
--   holds, releases: {key, member}
--
-- Returns 'applied', 'known' for a batch that was made before, or the error with which the store rejected a change.

local batch_key, since_key = KEYS[1], KEYS[2]
local batch = cjson.decode(ARGV[1])
local error_reply
local made = {}

-- A change: true when the store accepts it.
local function accepts(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then error_reply = reply end
  return error_reply == nil
end

-- Replicas have different clocks, so only the store's decides.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

-- Additions come first: they are all that a rejection must undo, because holds expire by themselves.
local function add(addition)
  local key = KEYS[addition.key]
  -- A table that has ended is not begun again.
  if addition.ends_at_ms <= now_ms then return true end
  for _, one in ipairs(addition.amounts) do
    local field, amount = one[1], one[2]
    if not accepts('HINCRBY', key, field, amount) then return false end
    made[#made + 1] = {key = key, field = field, amount = amount}
  end
  -- The earliest of several ends counts: a session's life ends a day after its first request.
  local left_ms = redis.call('PTTL', key)
  if left_ms >= 0 and now_ms + left_ms <= addition.ends_at_ms then return true end
  return accepts('PEXPIREAT', key, addition.ends_at_ms)
end

local function undo()
  for _, one in ipairs(made) do
    local is_negative = string.sub(one.amount, 1, 1) == '-'
    local opposite = is_negative and string.sub(one.amount, 2) or '-' .. one.amount
    redis.pcall('HINCRBY', one.key, one.field, opposite)
  end
end

local function make_all()
  for _, addition in ipairs(batch.additions) do
    if not add(addition) then return false end
  end
  -- A hold is a member whose score is its end. The set ends with its last hold.
  for _, hold in ipairs(batch.holds) do
    local key = KEYS[hold.key]
    if not accepts('ZADD', key, now_ms + batch.hold_ms, hold.member) then return false end
    if not accepts('PEXPIRE', key, batch.hold_ms) then return false end
  end
  for _, release in ipairs(batch.releases) do
    if not accepts('ZREM', KEYS[release.key], release.member) then return false end
  end
  -- The first batch of all begins the counting.
  if not accepts('SET', since_key, now_ms, 'NX') then return false end
  -- From here on the batch is known, so that it counts once even when it is sent again.
  return accepts('SET', batch_key, '1', 'PX', batch.batch_ms)
end

if redis.call('EXISTS', batch_key) == 1 then return 'known' end
if make_all() then return 'applied' end
undo()
return error_reply
