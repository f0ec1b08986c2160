/**
 * The upper bounds of the buckets for gaps between chunks, in seconds. A gap longer than the last bound falls into no
 * bucket.
 */
export const GAP_SECONDS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60],
];

const BOUNDS_MS = GAP_SECONDS.map((seconds) => seconds * 1000);

/** The gaps between the chunks of one streamed response. One object serves the whole stream. */
export interface ChunkGaps {
  /** Records a chunk that passed at a time in milliseconds. */
  note(nowMs: number): void;
  /** The number of gaps in each bucket of {@linkcode GAP_SECONDS}, without the gaps of smaller buckets. */
  readonly counts: readonly number[];
  /** The number of all gaps, including those in no bucket. */
  readonly count: number;
  /** The sum of all gaps, in milliseconds. */
  readonly sumMs: number;
}

/** Creates the gaps of a stream before its first chunk. */
export function createChunkGaps(): ChunkGaps {
  const counts = BOUNDS_MS.map(() => 0);
  let lastMs: number | undefined;
  const gaps = {
    counts,
    count: 0,
    sumMs: 0,
    note(nowMs: number) {
      if (lastMs !== undefined) {
        const gapMs = nowMs - lastMs;
        const bucket = bucketOf(gapMs);
        if (bucket < counts.length) counts[bucket] = (counts[bucket] ?? 0) + 1;
        gaps.count += 1;
        gaps.sumMs += gapMs;
      }
      lastMs = nowMs;
    },
  };
  return gaps;
}

/** Returns the bucket of a gap. Uses a loop, because a callback would cost one more object for each chunk. */
function bucketOf(gapMs: number): number {
  let bucket = 0;
  for (const boundMs of BOUNDS_MS) {
    if (gapMs <= boundMs) return bucket;
    bucket += 1;
  }
  return bucket;
}
