/** How the fields of a table begin by which a loss is made good; no other begins so. */
export const HIDDEN = "\x01";

/** A script that the store runs as one, so that nothing comes between its commands. */
export interface StoreScript {
  readonly lua: string;
}

/**
 * Gives the store a name that it keeps until it loses everything.
 *
 * Keys: the name. Arguments: what to name it if it has none.
 *
 * @returns Its name.
 */
export const NAME: StoreScript = {
  lua: `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])`,
};

/**
 * Does the operations of a batch that was not done before, and tells what their sums are.
 *
 * Keys: the store's name, the number of the last batch of this process, then the tables. Arguments: the store's name
 * as it was, the number of the batch, then of each operation its kind, the place of its table among the keys, the
 * field, the amount, what was known, and when the table may go (milliseconds since 1970).
 *
 * @returns `["lost"]` when the store has another name, or knows no batch of this process; else the sums.
 */
export const APPLY: StoreScript = {
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local number = tonumber(ARGV[2])
if last == 0 and number > 1 then return {'lost'} end
if number > last + 1 then return redis.error_reply('GAP the batch before has not come') end
local isNew = number > last
local values = {}
local function get(key, field) return tonumber(redis.call('HGET', key, field) or '0') end
local function restore(key, field, own, known)
  local ownField, knownField = '${HIDDEN}own ' .. field, '${HIDDEN}known ' .. field
  local before = math.max(get(key, ownField), get(key, knownField))
  local allOwn = redis.call('HINCRBY', key, ownField, own)
  local mostKnown = math.max(get(key, knownField), tonumber(known))
  redis.call('HSET', key, knownField, string.format('%.0f', mostKnown))
  local added = math.max(allOwn, mostKnown) - before
  redis.call('HINCRBY', key, field, string.format('%.0f', added))
end
for i = 3, #ARGV, 6 do
  local kind, key, field, amount = ARGV[i], KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2], ARGV[i + 3]
  if isNew and kind ~= 'get' then
    if kind == 'add' then
      redis.call('HINCRBY', key, field, amount)
    elseif kind == 'begin' then
      redis.call('HSETNX', key, field, amount)
    else
      restore(key, field, amount, ARGV[i + 4])
    end
    redis.call('PEXPIREAT', key, ARGV[i + 5])
  end
  values[#values + 1] = redis.call('HGET', key, field) or '0'
end
if isNew then redis.call('SET', KEYS[2], ARGV[2], 'PX', 86400000) end
return values`,
};

/**
 * Adds all of a list, or nothing when one would pass its bound.
 *
 * Keys: the store's name, then the tables. Arguments: the store's name as it was, then of each reservation the place
 * of its table, the field, the amount, the bound, and when the table may go.
 *
 * @returns `["refused", place, used]` with the place of the first that does not fit, from 0; `["lost"]` when the store
 * has another name; else `["added", sums…]`.
 */
export const RESERVE: StoreScript = {
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
for i = 2, #ARGV, 5 do
  local used = redis.call('HGET', KEYS[tonumber(ARGV[i])], ARGV[i + 1]) or '0'
  if tonumber(used) + tonumber(ARGV[i + 2]) > tonumber(ARGV[i + 3]) then
    return {'refused', (i - 2) / 5, used}
  end
end
local values = {'added'}
for i = 2, #ARGV, 5 do
  local key = KEYS[tonumber(ARGV[i])]
  redis.call('HINCRBY', key, ARGV[i + 1], ARGV[i + 2])
  redis.call('PEXPIREAT', key, ARGV[i + 4])
  values[#values + 1] = redis.call('HGET', key, ARGV[i + 1])
end
return values`,
};

/**
 * Asks for a quota that was read, or for the right to read it.
 *
 * Keys: the quota, the lock. Arguments: who asks, how long the lock lasts (milliseconds).
 *
 * @returns `["found", quota, milliseconds that it stands]`, `["read"]` or `["wait"]`.
 */
export const FIND_QUOTA: StoreScript = {
  lua: `
local found = redis.call('GET', KEYS[1])
if found then return {'found', found, redis.call('PTTL', KEYS[1])} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'read'} end
return {'wait'}`,
};

/**
 * Leaves a quota for the others and gives the lock back.
 *
 * Keys: the quota, the lock. Arguments: who has the lock, the quota (empty: none), how long it stands (milliseconds).
 */
export const PUBLISH_QUOTA: StoreScript = {
  lua: `
if ARGV[2] ~= '' then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 'OK'`,
};

/** Every script. */
export const SCRIPTS: readonly StoreScript[] = [
  NAME,
  APPLY,
  RESERVE,
  FIND_QUOTA,
  PUBLISH_QUOTA,
];
