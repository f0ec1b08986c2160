/** A body that may be evicted while memory is short: it is arriving, or its request waits for its turn. */
export interface Evictable {
  /** The length that an arriving body announced, in bytes; 0 if it announced no length, or has arrived. */
  readonly declaredBytes: number;
  readonly isWaiting: boolean;
  readonly onEvict: (error: Error) => void;
}

/** The facts of one request's body that decide its eviction. */
interface HeldBytes {
  readonly caller: string;
  readonly bytes: number;
  readonly evictable: Evictable | undefined;
}

/** The memory that a new body needs: `bytes` in total, and `missingBytes` beyond the free memory. */
interface MemoryNeed {
  readonly caller: string;
  readonly bytes: number;
  readonly missingBytes: number;
  readonly maxBytes: number;
}

/** While a caller holds at most this share of the memory, its new body may evict any body that waits. */
const NEW_BODY_SHARE = 0.5;

/**
 * Returns the bodies to evict for a new body; `undefined` when evicting bodies does not free enough. The caller that
 * holds the most memory loses first: its waiting bodies, then its uploads. The largest body goes first, and the newest
 * of equal bodies.
 *
 * An upload is evicted for a caller that would hold less. A waiting body is also evicted for a caller that would hold
 * at most half of the memory. A waiting body may wait for minutes, and must not keep other callers out so long.
 *
 * @param bodies The bodies in the order in which they came.
 */
export function bodiesToEvict<Body extends HeldBytes>(
  bodies: Iterable<Body>,
  { caller, bytes, missingBytes, maxBytes }: MemoryNeed,
): readonly Body[] | undefined {
  const all = [...bodies];
  const held = new Map<string, number>();
  for (const one of all) {
    held.set(one.caller, one.bytes + (held.get(one.caller) ?? 0));
  }
  const ownBytes = bytes + (held.get(caller) ?? 0);
  const mayEndWaits = ownBytes <= NEW_BODY_SHARE * maxBytes;
  const rank = ({ evictable }: Body) => Number(evictable?.isWaiting);
  const lastFirst = Map.groupBy(
    all.filter((one) => one.bytes > 0 && one.evictable !== undefined)
      .sort((one, other) => rank(one) - rank(other) || one.bytes - other.bytes),
    (one) => one.caller,
  );
  const evicted: Body[] = [];
  for (let missing = missingBytes; missing > 0;) {
    let heaviest: Body | undefined;
    let most = 0;
    for (const [one, own] of lastFirst) {
      const last = own.at(-1);
      const heldBytes = held.get(one) ?? 0;
      if (last === undefined || heldBytes <= most) continue;
      const mayEnd = mayEndWaits && last.evictable?.isWaiting;
      if (heldBytes > ownBytes || mayEnd) [heaviest, most] = [last, heldBytes];
    }
    if (heaviest === undefined) return undefined;
    lastFirst.get(heaviest.caller)?.pop();
    held.set(heaviest.caller, most - heaviest.bytes);
    evicted.push(heaviest);
    missing -= heaviest.bytes;
  }
  return evicted;
}
