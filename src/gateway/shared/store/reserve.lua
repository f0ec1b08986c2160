-- Grants all claims of a request or none; without an id it only reads.
--
-- KEYS: the start of counting, then the tables and the sets of holds.
-- ARGV: the request as JSON. `table` and `holds` are indexes in KEYS, and times are in milliseconds.
--   id: the request, or an empty text
--   hold_ms: the lifetime of a hold
--   claims: {table, holds, member, amount, most, fields, is_life}
--
-- Returns 1 when granted, else 0; the start of counting (milliseconds since 1970, or null); then for each claim the
-- total of other requests' holds and the values of its fields. For a session's life, the remaining time follows; it is
-- negative before the life begins.

local since_key = KEYS[1]
local request = cjson.decode(ARGV[1])

-- Replicas have different clocks, so only the store's decides which holds have expired.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

-- A member is an amount and the id of its request: "4000 req_1".
local function held_by_others(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now_ms)
  local held = 0
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    local amount, owner = string.match(member, '^(%d+) (.*)$')
    if amount and owner ~= request.id then held = held + tonumber(amount) end
  end
  return held
end

-- Compare each claim with what is held and counted.
local is_granted, uses = request.id ~= '', {}
for _, claim in ipairs(request.claims) do
  local use = {held_by_others(KEYS[claim.holds])}
  local used = use[1]
  for _, field in ipairs(claim.fields) do
    local counted = redis.call('HGET', KEYS[claim.table], field) or '0'
    use[#use + 1] = counted
    used = used + tonumber(counted)
  end
  if used + claim.amount > claim.most then is_granted = false end
  if claim.is_life then use[#use + 1] = redis.call('PTTL', KEYS[claim.table]) end
  uses[#uses + 1] = use
end

-- Hold what was granted.
if is_granted then
  for _, claim in ipairs(request.claims) do
    local key = KEYS[claim.holds]
    redis.call('ZADD', key, now_ms + request.hold_ms, claim.member)
    redis.call('PEXPIRE', key, request.hold_ms)
  end
end

return {is_granted and 1 or 0, redis.call('GET', since_key), unpack(uses)}
