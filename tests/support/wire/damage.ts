import { isJsonObject, type JsonValue } from "../../../src/base/json.ts";
import type { Random } from "../fakes/random.ts";

/** Values to put in wrong places. */
const WRONG_VALUES: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  "",
  "x",
  "__proto__",
  [],
  {},
  [null],
  [[]],
  { type: 1 },
  { error: "x" },
];

/**
 * Returns `bytes` with one to four random faults: flipped, removed, repeated, truncated or replaced
 * bytes.
 */
export function damageBytes(bytes: Uint8Array, random: Random): Uint8Array {
  let damaged: Uint8Array = bytes;
  const faults = 1 + random.below(4);
  for (let fault = 0; fault < faults && damaged.length > 0; fault++) {
    damaged = damageOnce(damaged, random);
  }
  return damaged;
}

function damageOnce(bytes: Uint8Array, random: Random): Uint8Array {
  const from = random.below(bytes.length);
  const to = Math.min(bytes.length, from + 1 + random.below(200));
  const before = bytes.subarray(0, from);
  const middle = bytes.subarray(from, to);
  const after = bytes.subarray(to);
  switch (random.below(5)) {
    case 0:
      return before;
    case 1:
      return join(before, after);
    case 2:
      return join(before, middle, middle, after);
    case 3:
      return join(before, Uint8Array.of(random.below(256)), after);
    default:
      return join(before, middle.toReversed(), after);
  }
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(
    parts.reduce((length, part) => length + part.length, 0),
  );
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** Returns a copy of `value` with about one wrong value in `rarity` places. */
export function damageJson(
  value: JsonValue,
  random: Random,
  rarity = 12,
): JsonValue {
  if (random.below(rarity) === 0) return random.pick(WRONG_VALUES);
  if (Array.isArray(value)) {
    return value.map((one) => damageJson(one, random, rarity));
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map((
      [key, one],
    ) => [key, damageJson(one ?? null, random, rarity)]),
  );
}
