/** A body that gives way while memory is short: it is arriving, or its request waits for its turn. */
export interface Evictable {
  /** The length in the header of a body that is arriving; 0 without one, and for one that has arrived. */
  readonly declaredBytes: number;
  readonly isWaiting: boolean;
  readonly onEvict: (error: Error) => void;
}

/** The body of one request, as far as the choice depends on it. */
interface HeldBytes {
  readonly caller: string;
  readonly bytes: number;
  readonly evictable: Evictable | undefined;
}

/** The memory that a new body needs: of `bytes`, only `missingBytes` are not free. */
interface MemoryNeed {
  readonly caller: string;
  readonly bytes: number;
  readonly missingBytes: number;
  readonly maxBytes: number;
}

/** The share of the memory within which a caller's new body comes before all that wait. */
const NEW_BODY_SHARE = 0.5;

/**
 * Returns the bodies that give way to a new one; `undefined` when they do not suffice. The caller that holds the most
 * loses first: its waits, then its uploads, of each the largest, and the newest of equal ones.
 *
 * An upload gives way to a caller that would hold less. A wait also does to one that would hold no more than half of
 * the memory: a wait may last for minutes, and nobody may be kept out so long.
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
