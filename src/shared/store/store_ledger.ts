import { memoized } from "../../core/memo.ts";
import type { Clock } from "../../core/time/timers.ts";
import { type Hold, HOLD_MS } from "../../usage/sums.ts";
import type { Ledger } from "../ledger.ts";
import { StoreError, type StoreLink, type StoreScript } from "./store_link.ts";
import { digestOf } from "../../core/sha256.ts";

/** The dependencies of a store's ledger. */
interface StoreLedgerOptions {
  readonly link: StoreLink;
  /** The prefix of every key. */
  readonly prefix: string;
  readonly clock: Pick<Clock, "now">;
}

/** The time for which a table stays in the store after its window, in milliseconds, because clocks differ. */
const GRACE_MS = 3_600_000;

const MAX_KNOWN_DIGESTS = 50_000;

/**
 * The time for which a batch is known, in milliseconds. It exceeds the life of any sum, so that a batch counts once
 * even when it is sent again much later.
 */
const BATCH_MS = 35 * 86_400_000;

/**
 * Makes the changes of a batch that was not made before: all of them, or none when the store rejects one.
 *
 * Keys: the batch, the start of counting, then tables and holds. Arguments: the lifetime of the batch (milliseconds),
 * then the changes. Each begins with its kind and the index of its key:
 *
 * - `add`: the expiry of the table (milliseconds since 1970), the number of fields, then each field and amount
 * - `hold`: the member and its lifetime (milliseconds)
 * - `release`: the member
 */
const APPLY: StoreScript = {
  lua: `
if redis.call('EXISTS', KEYS[1]) == 1 then return 'known' end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function run(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return reply end
end
local function opposite(amount)
  return string.sub(amount, 1, 1) == '-' and string.sub(amount, 2) or '-' .. amount
end
-- Additions come first, so that this finds all that were made before an argument.
local function undo(before)
  local i = 2
  while i < before and ARGV[i] == 'add' do
    local last = i + 3 + 2 * tonumber(ARGV[i + 3])
    for j = i + 4, math.min(last, before - 1), 2 do
      redis.pcall('HINCRBY', KEYS[tonumber(ARGV[i + 1])], ARGV[j], opposite(ARGV[j + 1]))
    end
    i = last + 1
  end
end
local function refuse(reply, before)
  undo(before)
  return reply
end
local i = 2
while i <= #ARGV do
  local kind, key = ARGV[i], KEYS[tonumber(ARGV[i + 1])]
  local refusal
  if kind == 'add' then
    local last = i + 3 + 2 * tonumber(ARGV[i + 3])
    for j = i + 4, last, 2 do
      refusal = run('HINCRBY', key, ARGV[j], ARGV[j + 1])
      if refusal then return refuse(refusal, j) end
    end
    refusal = run('PEXPIREAT', key, ARGV[i + 2])
    i = last + 1
  elseif kind == 'hold' then
    local lifetime = tonumber(ARGV[i + 3])
    refusal = run('ZADD', key, string.format('%.0f', now + lifetime), ARGV[i + 2]) or run('PEXPIRE', key, lifetime)
    i = i + 4
  else
    refusal = run('ZREM', key, ARGV[i + 2])
    i = i + 3
  end
  if refusal then return refuse(refusal, i) end
end
local refusal = run('SET', KEYS[2], string.format('%.0f', now), 'NX') or run('SET', KEYS[1], '1', 'PX', ARGV[1])
return refusal and refuse(refusal, #ARGV + 1) or 'applied'`,
};

/**
 * Grants all claims or none; without an id it only reads.
 *
 * Keys: the start of counting, then tables and holds. Arguments: the id, the lifetime of holds (milliseconds), then the
 * claims. Each claim has the indexes of its table and of its holds, the member, the amount, the maximum, the number of
 * fields, and the fields.
 *
 * @returns The decision (1 or 0), the start of counting, then for each claim the total of its holds, and its fields.
 */
const RESERVE: StoreScript = {
  lua: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local id, lifetime = ARGV[1], tonumber(ARGV[2])
local function heldOf(key)
  if redis.call('EXISTS', key) == 0 then return 0 end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  local held = 0
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    local amount, owner = string.match(member, '^(%d+) (.*)$')
    if amount and owner ~= id then held = held + tonumber(amount) end
  end
  return held
end
local isGranted, holds = id ~= '', {}
local reply = {0, redis.call('GET', KEYS[1])}
local i = 3
while i <= #ARGV do
  local key, heldKey, fields = KEYS[tonumber(ARGV[i])], KEYS[tonumber(ARGV[i + 1])], tonumber(ARGV[i + 5])
  local used = heldOf(heldKey)
  reply[#reply + 1] = string.format('%.0f', used)
  for j = i + 6, i + 5 + fields do
    local counted = redis.call('HGET', key, ARGV[j]) or '0'
    reply[#reply + 1] = counted
    used = used + tonumber(counted)
  end
  if used + tonumber(ARGV[i + 3]) > tonumber(ARGV[i + 4]) then isGranted = false end
  holds[#holds + 1] = {heldKey, ARGV[i + 2]}
  i = i + 6 + fields
end
if isGranted then
  reply[1] = 1
  for _, hold in ipairs(holds) do
    redis.call('ZADD', hold[1], string.format('%.0f', now + lifetime), hold[2])
    redis.call('PEXPIRE', hold[1], lifetime)
  end
end
return reply`,
};

/** The scripts of a ledger. */
export const LEDGER_SCRIPTS: readonly StoreScript[] = [APPLY, RESERVE];

/**
 * Creates a ledger in the store that all replicas share: a hash for each table, and a sorted set for the holds of each
 * limit, which expire by the store's clock. Only the store has these sums, so sums that it loses are lost.
 */
export function createStoreLedger(
  { link, prefix, clock }: StoreLedgerOptions,
): Ledger {
  const sinceKey = `${prefix}since`;
  const knownDigest = memoized(digestOf, MAX_KNOWN_DIGESTS);

  function keyOf(kind: "sums" | "holds" | "once", name: string): string {
    return `${prefix}${kind}:${knownDigest(name)}`;
  }

  return {
    get isAway() {
      return link.isAway;
    },
    async apply({ id, additions, holds, releases }) {
      const keys = createKeyList(`${prefix}${id.replace("_", ":")}`, sinceKey);
      const args = [
        ...additions.flatMap(({ table, endsAtMs, amounts }) => [
          ...["add", keys.placeOf(keyOf("sums", table))],
          ...[endsAtMs + GRACE_MS, amounts.length],
          ...amounts.flatMap(({ field, amount }) => [field, amount]),
        ]),
        ...holds.flatMap((hold) => [
          ...["hold", keys.placeOf(keyOf("holds", hold.key))],
          ...[memberOf(hold), HOLD_MS],
        ]),
        ...releases.flatMap((hold) => [
          ...["release", keys.placeOf(keyOf("holds", hold.key))],
          memberOf(hold),
        ]),
      ];
      await link.run(APPLY, keys.all, [BATCH_MS, ...args]);
    },
    async reserve(id, claims) {
      const keys = createKeyList(sinceKey);
      const args = claims.flatMap(({ sums, key, amount, most }) => [
        keys.placeOf(keyOf("sums", sums[0]?.table ?? "")),
        keys.placeOf(keyOf("holds", key)),
        ...[memberOf({ key, id, amount }), amount],
        Math.min(most, Number.MAX_SAFE_INTEGER),
        ...[sums.length, ...sums.map(({ field }) => field)],
      ]);
      const reply = listOf(
        await link.run(RESERVE, keys.all, [id, HOLD_MS, ...args]),
      );
      const amounts = reply.slice(2).map(Number);
      const uses = claims.map(({ sums }) => {
        const [held = 0, ...counted] = amounts.splice(0, 1 + sums.length);
        return { counted, held };
      });
      return {
        isGranted: reply[0] === 1,
        uses,
        sinceMs: sinceOf(reply[1]),
      };
    },
    async table(name) {
      const [since, reply] = await Promise.all([
        link.send(["GET", sinceKey]),
        link.send(["HGETALL", keyOf("sums", name)]),
      ]);
      const found = listOf(reply);
      const values = new Map<string, number>();
      for (let index = 0; index + 1 < found.length; index += 2) {
        values.set(String(found[index]), Number(found[index + 1]));
      }
      return { values, sinceMs: sinceOf(since) };
    },
    async once(name, endsAtMs) {
      const key = keyOf("once", name);
      const lifetimeMs = Math.max(0, endsAtMs - clock.now()) + GRACE_MS;
      const options = ["NX", "PX", String(lifetimeMs)];
      return await link.send(["SET", key, "1", ...options]) !== null;
    },
  };
}

/** Returns the member for a hold in the set of its limit. */
function memberOf({ id, amount }: Hold): string {
  return `${amount} ${id}`;
}

/** Collects the keys of a script, each once. */
function createKeyList(...first: readonly string[]) {
  const places = new Map(first.map((key, index) => [key, index + 1]));
  return {
    /** Returns the index of a key, from 1. */
    placeOf(key: string): number {
      const place = places.get(key) ?? places.size + 1;
      places.set(key, place);
      return place;
    },
    get all(): readonly string[] {
      return [...places.keys()];
    },
  };
}

function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new StoreError("REPLY");
  return reply;
}

/** Returns milliseconds since 1970; a script returns `false` as null. */
function sinceOf(reply: unknown): number | undefined {
  return typeof reply === "string" ? Number(reply) : undefined;
}
