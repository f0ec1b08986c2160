import { type ChunkGaps, GAP_SECONDS } from "./chunk_gaps.ts";

/** Whose answers are counted. */
export interface GapLabels {
  readonly connection: string;
  readonly model: string;
}

/**
 * A histogram that takes the gaps of a whole answer at once. The client library's own takes one value at a
 * time, and would cost as much for each chunk as the rest of the gateway.
 */
export interface GapHistogram {
  add(labels: GapLabels, gaps: ChunkGaps): void;
  /** Everything as it stands now, in the form of the client library. */
  snapshot(): object;
}

const NAME = "model_gateway_chunk_gap_seconds";

interface Series {
  readonly labels: GapLabels;
  readonly counts: number[];
  count: number;
  sumMs: number;
}

/** Nothing is counted yet. */
export function createGapHistogram(): GapHistogram {
  const series = new Map<string, Series>();
  return {
    add(labels, gaps) {
      if (gaps.count === 0) return;
      const key = JSON.stringify([labels.connection, labels.model]);
      const one = series.get(key) ??
        { labels, counts: GAP_SECONDS.map(() => 0), count: 0, sumMs: 0 };
      series.set(key, one);
      for (const [bucket, count] of gaps.counts.entries()) {
        one.counts[bucket] = (one.counts[bucket] ?? 0) + count;
      }
      one.count += gaps.count;
      one.sumMs += gaps.sumMs;
    },
    snapshot: () => ({
      name: NAME,
      help: "Between two chunks of a streamed answer, as the caller gets them",
      type: "histogram",
      aggregator: "sum",
      values: [...series.values()].flatMap(samplesOf),
    }),
  };
}

/** A bucket counts what the smaller ones count, too. */
function samplesOf({ labels, counts, count, sumMs }: Series): object[] {
  let below = 0;
  const buckets = GAP_SECONDS.map((le, bucket) => {
    below += counts[bucket] ?? 0;
    return sample("bucket", { ...labels, le }, below);
  });
  return [
    ...buckets,
    sample("bucket", { ...labels, le: "+Inf" }, count),
    sample("sum", labels, sumMs / 1000),
    sample("count", labels, count),
  ];
}

function sample(part: string, labels: object, value: number): object {
  return { labels, value, metricName: `${NAME}_${part}` };
}
