/** What the soak has found. */
export interface Findings {
  /** A row of the table at the end. */
  note(what: string, figure: string): void;
  /** Something is wrong; says what, in one sentence. */
  fail(sentence: string): void;
  readonly rows: readonly (readonly [what: string, figure: string])[];
  readonly faults: readonly string[];
}

/** Nothing yet. What is noted is printed at once, too. */
export function createFindings(): Findings {
  const rows: [string, string][] = [];
  const faults: string[] = [];
  return {
    rows,
    faults,
    note(what, figure) {
      rows.push([what, figure]);
      console.log(`${what}: ${figure}`);
    },
    fail(sentence) {
      faults.push(sentence);
      console.error(`WRONG: ${sentence}`);
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
