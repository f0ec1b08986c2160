/** The numbers of a window. Null stands for an unknown number. */
interface Amounts {
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  readonly usedPercent: number | null;
}

/** The numbers that a provider reports about one window. */
export type KnownAmounts =
  & { readonly [Name in keyof Amounts]?: number | null | undefined }
  & {
    /** A second report of the share used. The report may be rounded or late, so it counts only if it is stricter. */
    readonly otherPercent?: number | null | undefined;
    /** True when the provider reports that this window stops requests, so that 100 % or more is used. */
    readonly isStopped?: boolean | undefined;
  };

/**
 * Completes the reported numbers by arithmetic, without guessing. A reported number is kept even when it contradicts
 * the others, because providers truncate each number separately (Z.ai reports 2000, 115 and 1884).
 *
 * @returns `remaining` is never computed below zero. If the provider reports no `used` and more left than the limit,
 * `used` is null. `usedPercent` is the strictest share that follows from the reported numbers, because that share stops
 * requests.
 */
export function amounts(known: KnownAmounts): Amounts {
  const limit = known.limit ?? null;
  const spent = difference(limit, known.remaining);
  const ofRest = spent !== null && spent >= 0 ? spent : null;
  const used = known.used ?? ofRest;
  const left = difference(limit, used);
  return {
    limit,
    used,
    remaining: known.remaining ?? (left === null ? null : Math.max(0, left)),
    usedPercent: strictestShare([
      known.usedPercent,
      percentOf(used, limit),
      percentOf(ofRest, limit),
      known.otherPercent,
      known.isStopped ? 100 : null,
    ]),
  };
}

/**
 * Returns the first share. If another share is greater by more than rounding explains, or at least 100 %, returns the
 * greatest share.
 */
function strictestShare(
  all: readonly (number | null | undefined)[],
): number | null {
  const [first, ...others] = all.filter((one) => typeof one === "number");
  if (first === undefined) return null;
  const most = Math.max(...others);
  return most > first + 1 || most >= 100 ? Math.max(first, most) : first;
}

/**
 * Returns the numbers of a window in the unit `percent`.
 *
 * @param usedPercent The share used: 0–100, or more on overuse. Null or undefined if it is unknown.
 */
export function percentAmounts(
  usedPercent: number | null | undefined,
): Amounts {
  return amounts({ limit: 100, used: usedPercent, usedPercent });
}

/**
 * Returns the share used, computed from the share left.
 *
 * @param whole The share left of an unused window: 100 for percent, 1 for a fraction.
 * @returns Null when the share left is unknown or more than the whole.
 */
export function complement(
  left: number | null | undefined,
  whole: number,
): number | null {
  const used = difference(whole, left);
  return used === null || used < 0 ? null : used;
}

/**
 * Removes the rounding error of binary fractions: 0.1 + 0.2 becomes 0.3. Keeps twelve digits, more than any provider
 * reports.
 */
export function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

function difference(
  whole: number | null,
  part: number | null | undefined,
): number | null {
  if (whole === null || part === null || part === undefined) return null;
  return tidy(whole - part);
}

function percentOf(used: number | null, limit: number | null): number | null {
  if (used === null || limit === null || limit <= 0) return null;
  const percent = tidy((used / limit) * 100);
  return Number.isFinite(percent) ? percent : null;
}
