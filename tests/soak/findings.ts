/** The results of the soak. */
export interface Findings {
  /** Adds a row to the table at the end. */
  note(what: string, figure: string): void;
  /** Reports a fault that the load of the machine cannot explain, in one sentence. */
  fail(sentence: string): void;
  /**
   * Reports a time or a size over its bound. A busy machine may be the cause.
   *
   * @param excuse A reason why it is inconclusive even on a quiet machine.
   */
  exceed(sentence: string, excuse?: string): void;
  /**
   * Decides about the sentences of {@linkcode exceed} since the last call.
   *
   * @param excuse A reason why they are inconclusive; absent on a quiet machine, where they are
   *   faults.
   */
  judge(excuse: string | undefined): void;
  readonly rows: readonly (readonly [what: string, figure: string])[];
  readonly faults: readonly string[];
  /** The sentences without a verdict, each with its reason. */
  readonly inconclusive: readonly string[];
}

/** Creates empty findings, which also print each note at once. */
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

/** Formats bytes as KiB or MiB. */
export function sizeText(bytes: number): string {
  const kib = bytes / 1024;
  return Math.abs(kib) < 10_000
    ? `${kib.toFixed(1)} KiB`
    : `${(kib / 1024).toFixed(1)} MiB`;
}

/** Returns a quantile of sorted numbers, such as 0.99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[
    Math.min(sorted.length - 1, Math.floor(share * sorted.length))
  ] ??
    NaN;
}

/** Returns the growth of `y` per `x`, by least squares. */
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
