/** Upper bounds of the buckets that gaps between chunks are counted in, in seconds; longer ones are in none. */
export const GAP_SECONDS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60],
];

const BOUNDS_MS = GAP_SECONDS.map((seconds) => seconds * 1000);

/** The gaps between the chunks of one streamed answer. One object serves the whole stream. */
export interface ChunkGaps {
  /** Notes that a chunk passed, at a time in milliseconds. */
  note(nowMs: number): void;
  /** How many gaps lie in each bucket of {@linkcode GAP_SECONDS} alone. */
  readonly counts: readonly number[];
  /** How many there are, those in no bucket included. */
  readonly count: number;
  /** All of them together, in milliseconds. */
  readonly sumMs: number;
}

/** No chunk has passed yet. */
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

/** A loop, since a callback would be one more object for each chunk. */
function bucketOf(gapMs: number): number {
  let bucket = 0;
  for (const boundMs of BOUNDS_MS) {
    if (gapMs <= boundMs) return bucket;
    bucket += 1;
  }
  return bucket;
}
