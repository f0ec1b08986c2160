/** What the soak has found. */
export interface Findings {
  /** A row of the table at the end. */
  note(what: string, figure: string): void;
  /** Something is wrong, which no other load of the machine can explain; says what, in one sentence. */
  fail(sentence: string): void;
  /**
   * A time or a size is beyond its bound, of which a machine that is too busy may be the cause.
   *
   * @param excuse Why it says nothing on a quiet machine either; absent where it does.
   */
  exceed(sentence: string, excuse?: string): void;
  /**
   * Decides what was beyond a bound since this was last called.
   *
   * @param excuse Why it says nothing; absent where the machine was quiet, and it is wrong.
   */
  judge(excuse: string | undefined): void;
  readonly rows: readonly (readonly [what: string, figure: string])[];
  readonly faults: readonly string[];
  /** What can neither be called wrong nor right, each with its reason. */
  readonly inconclusive: readonly string[];
}

/** Nothing yet. What is noted is printed at once, too. */
export function createFindings(): Findings {
  const rows: [string, string][] = [];
  const faults: string[] = [];
  const inconclusive: string[] = [];
  let exceeded: string[] = [];
  const fail = (sentence: string) => {
    faults.push(sentence);
    console.error(`WRONG: ${sentence}`);
  };
  return {
    rows,
    faults,
    inconclusive,
    fail,
    exceed(sentence, excuse) {
      if (excuse === undefined) exceeded.push(sentence);
      else inconclusive.push(`${sentence} (${excuse})`);
    },
    judge(excuse) {
      for (const sentence of exceeded) {
        if (excuse === undefined) fail(sentence);
        else inconclusive.push(`${sentence} (${excuse})`);
      }
      exceeded = [];
    },
    note(what, figure) {
      rows.push([what, figure]);
      console.log(`${what}: ${figure}`);
    },
  };
}

/** Bytes as KiB or MiB. */
export function sizeText(bytes: number): string {
  const kib = bytes / 1024;
  return Math.abs(kib) < 10_000
    ? `${kib.toFixed(1)} KiB`
    : `${(kib / 1024).toFixed(1)} MiB`;
}

/** One of sorted numbers, such as 0.99 of the way from the least to the greatest. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[
    Math.min(sorted.length - 1, Math.floor(share * sorted.length))
  ] ??
    NaN;
}

/** How much `y` grows with each `x`, by least squares. */
export function slope(
  points: readonly (readonly [x: number, y: number])[],
): number {
  const mean = (at: 0 | 1) =>
    points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let above = 0;
  let below = 0;
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return above / below;
}
