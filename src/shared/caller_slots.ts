/**
 * Slots of callers that no configuration lists: those of identity providers. A thread that sees a caller first claims a
 * slot for it, and all threads find the same one. A slot belongs to its caller until the process ends.
 */
export type CallerSlots = BigInt64Array<SharedArrayBuffer>;

/** The number of slots, for several times as many people as most companies have. */
const MAX_CALLERS = 2 ** 15;

/** The number of slots to try. While less than half of the slots are in use, one of so many is free. */
const MAX_PROBES = 64;

/** Creates slots without callers. Unused ones take no memory. */
export function createCallerSlots(count: number = MAX_CALLERS): CallerSlots {
  const bytes = count * BigInt64Array.BYTES_PER_ELEMENT;
  return new BigInt64Array(new SharedArrayBuffer(bytes));
}

const SHA256_REGEXP = /^[0-9a-f]{64}$/;

/**
 * Returns the slot of a caller, and claims one for a new caller. 64 bits of the hash identify the caller.
 *
 * @param key The SHA-256 of the caller.
 * @returns `undefined` when no slot is left, or the key is no SHA-256.
 */
export function slotOf(slots: CallerSlots, key: string): number | undefined {
  if (!SHA256_REGEXP.test(key)) return undefined;
  const bits = BigInt.asIntN(64, BigInt(`0x${key.slice(0, 16)}`));
  const wanted = bits === FREE ? 1n : bits;
  const first = Number(BigInt.asUintN(32, wanted));
  for (let probe = 0; probe < MAX_PROBES; probe++) {
    const slot = (first + probe) % slots.length;
    const found = Atomics.compareExchange(slots, slot, FREE, wanted);
    if (found === FREE || found === wanted) return slot;
  }
  return undefined;
}

const FREE = 0n;
