import { Registry } from "@prometheus-io/client";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { Usage } from "@gateway/codecs";
import { type ChunkGaps, GAP_SECONDS } from "./chunk_gaps.ts";
import { isUnsent, type RequestFacts, servedModel } from "./facts.ts";
import { createInstruments, type Instruments } from "./instruments.ts";
import type {
  EndedRequest,
  GatewayState,
  Metrics,
  QuotaState,
  Snapshot,
  UsageState,
} from "./metrics.ts";

/** The metrics of one gateway, counted by a Prometheus client. */
export interface GatewayMetrics extends Metrics {
  /** Records the delay of a timer, in milliseconds. */
  lag(ms: number): void;
  /**
   * Returns the current values.
   *
   * @param usage The use of limits and of groups' quotas; default: no entries.
   */
  collect(state: GatewayState, usage?: UsageState): Promise<Snapshot>;
}

/** The allowed values of labels; any other value becomes `other`. */
interface LabelBounds {
  /** Returns true when the configuration has a model of this name. */
  isModel(name: string): boolean;
  /** Returns true when the configuration has a token of this name. */
  isToken(name: string): boolean;
  /** The request fields that a label may name when they are dropped. */
  readonly fields: ReadonlySet<string>;
}

const NONE = "none";
const OTHER = "other";

/** The largest number of callers of identity providers that have labels of their own. */
const MAX_CALLERS = 1000;

/** The largest number of labels for providers' reasons to drop reasoning. No provider has as many reasons. */
const MAX_REASONS = 20;

/** The largest number of windows per connection in the metrics. No provider has as many windows. */
const MAX_WINDOWS = 32;

/** Creates metrics without any counts. */
export function createGatewayMetrics(bounds: LabelBounds): GatewayMetrics {
  const registry = new Registry();
  const instruments = createInstruments(registry);
  const gaps = createGapHistogram();
  const tokenLabel = createLabelBound(bounds.isToken, MAX_CALLERS);
  const reasonLabel = createLabelBound(() => false, MAX_REASONS);
  return {
    requestEnded(ended) {
      countRequest(ended, instruments);
      countAttempts(ended, instruments);
      countAnswer(ended, { ...bounds, instruments, gaps, reasonLabel });
      countCaller(ended, instruments, tokenLabel);
    },
    cooledDown: (connection, failure) =>
      instruments.coolDowns.inc({ connection, failure }),
    limited: ({ token, limit, outcome }) =>
      instruments.callerLimits.inc({
        token: tokenLabel(token),
        limit,
        outcome,
      }),
    lag: (ms) => instruments.lag.observe(ms / 1000),
    async collect(state, usage = { limits: [], groupQuotas: [] }) {
      instruments.inFlight.set(state.inFlight);
      instruments.waiting.set(state.waiting ?? 0);
      instruments.bodyMemory.set(state.bodyMemoryBytes);
      instruments.abandonedHandshakes.set(state.abandonedHandshakes ?? 0);
      setQuotas(state.quotas, instruments);
      setUsage(usage, instruments);
      return [...await registry.getMetricsAsJSON(), gaps.snapshot()];
    },
  };
}

function countRequest(
  { facts, ending, totalMs }: EndedRequest,
  instruments: Instruments,
): void {
  const { route = NONE, mode = NONE } = facts;
  instruments.requests.inc({
    route,
    protocol: facts.protocol ?? NONE,
    mode,
    status: statusClass(facts.status),
    ended: ending,
  });
  instruments.duration.observe({ route, mode }, totalMs / 1000);
  instruments.requestBytes.inc({ route }, facts.bytesIn);
  instruments.answerBytes.inc({ route }, facts.bytesOut);
  if (facts.waitedFor !== undefined) {
    const reason = facts.waitedFor;
    instruments.waits.observe({ reason }, (facts.waitedMs ?? 0) / 1000);
  }
  if (facts.moved === undefined) return;
  const { from: connection = NONE, why: reason } = facts.moved;
  instruments.moves.inc({ connection, reason });
}

/** Counts dropped fields. If a connection served the request, also counts the facts of the answer. */
function countAnswer(
  { facts }: EndedRequest,
  { instruments, gaps, isModel, fields, reasonLabel }: LabelBounds & {
    readonly instruments: Instruments;
    readonly gaps: GapHistogram;
    readonly reasonLabel: (reason: string) => string;
  },
): void {
  for (const field of facts.answer.dropped ?? []) {
    instruments.droppedFields.inc({ field: fields.has(field) ? field : OTHER });
  }
  const { connection, chunkGaps } = facts;
  const { firstByteMs, firstOutputMs } = facts.answer;
  if (connection === undefined) return;
  const labelsOf = (model: string | undefined) => ({
    connection,
    model: model !== undefined && isModel(model) ? model : OTHER,
  });
  const labels = labelsOf(servedModel(facts));
  if (facts.answer.substitute !== undefined) {
    instruments.substitutions.inc(labelsOf(facts.model));
  }
  const { cacheMiss } = facts.answer;
  if (cacheMiss !== undefined) {
    const byCause = { ...labels, cause: cacheMiss.why };
    instruments.cacheMisses.inc(byCause);
    instruments.cacheMissTokens.inc(byCause, cacheMiss.tokens);
  }
  for (const reason of facts.answer.reasoningDropped ?? []) {
    instruments.droppedReasoning.inc({
      ...labels,
      reason: reasonLabel(reason),
    });
  }
  if (chunkGaps !== undefined) gaps.add(labels, chunkGaps);
  if (firstByteMs !== undefined) {
    instruments.firstByte.observe(labels, firstByteMs / 1000);
  }
  if (firstOutputMs !== undefined) {
    instruments.firstOutput.observe(labels, firstOutputMs / 1000);
  }
  for (const { model, usage, costNanos } of usesOf(facts)) {
    const ofModel = labelsOf(model);
    for (const [kind, count] of tokenCounts(usage)) {
      instruments.tokens.inc({ ...ofModel, kind }, count);
    }
    if (costNanos !== undefined) {
      instruments.cost.inc(ofModel, costNanos / NANOS_PER_DOLLAR);
    }
  }
}

/** Returns the usage of each model. */
function usesOf(facts: RequestFacts) {
  const { byModel, usage, costNanos } = facts.answer;
  return byModel ?? [{ model: servedModel(facts), usage, costNanos }];
}

/** Counts every attempt that was sent, even if another attempt followed. */
function countAttempts(
  { facts }: EndedRequest,
  { attempts, shortages }: Instruments,
): void {
  for (const { connection, failed } of facts.attempts) {
    if (failed?.why === "gateway_shortage") shortages.inc();
    if (isUnsent(failed?.why)) continue;
    const status = failed === undefined
      ? facts.answer.upstreamStatus
      : failed.status;
    attempts.inc({ connection, status: statusClass(status) });
  }
}

function countCaller(
  { facts: { caller, answer: { usage, costNanos } }, ending }: EndedRequest,
  { callerRequests, callerTokens, callerCost }: Instruments,
  tokenLabel: (name: string) => string,
): void {
  if (caller === undefined) return;
  const token = tokenLabel(caller);
  callerRequests.inc({ token, ended: ending });
  for (const [kind, count] of tokenCounts(usage)) {
    callerTokens.inc({ token, kind }, count);
  }
  if (costNanos !== undefined) {
    callerCost.inc({ token }, costNanos / NANOS_PER_DOLLAR);
  }
}

/**
 * Creates a function that returns the label for a name. If the name is known or among the first `most` unknown names,
 * the label is the name. Otherwise the label is `other`.
 */
function createLabelBound(
  isKnown: (name: string) => boolean,
  most: number,
): (name: string) => string {
  const seen = new Set<string>();
  return (name) => {
    if (seen.has(name) || isKnown(name)) return name;
    if (seen.size >= most) return OTHER;
    seen.add(name);
    return name;
  };
}

function tokenCounts(usage: Usage | undefined): [kind: string, number][] {
  if (usage === undefined) return [];
  const counts: [string, number | undefined][] = [
    ["input", usage.inputTokens],
    ["cached_input", usage.cachedInputTokens],
    ["cache_write", usage.cacheWriteTokens],
    ["output", usage.outputTokens],
    ["reasoning", usage.reasoningTokens],
  ];
  return counts.flatMap(([kind, count]) =>
    count === undefined ? [] : [[kind, count]]
  );
}

function statusClass(status: number | undefined): string {
  return status === undefined ? NONE : `${Math.floor(status / 100)}xx`;
}

/** Sets the quota gauges. Windows that are no longer known disappear. */
function setQuotas(
  quotas: readonly QuotaState[],
  { quotaLimit, quotaRemaining, quotaUsed, quotaResets }: Instruments,
): void {
  for (const one of [quotaLimit, quotaRemaining, quotaUsed, quotaResets]) {
    one.reset();
  }
  for (const quota of limitWindows(quotas)) {
    const { limit, remaining, usedPercent, resetsAtMs, ...labels } = quota;
    if (limit !== null) quotaLimit.set(labels, limit);
    if (remaining !== null) quotaRemaining.set(labels, remaining);
    if (usedPercent !== null) quotaUsed.set(labels, usedPercent / 100);
    if (resetsAtMs !== null) quotaResets.set(labels, resetsAtMs / 1000);
  }
}

/** Sets the gauges of limits. Limits that are no longer configured disappear. */
function setUsage(
  { limits, groupQuotas }: UsageState,
  { groupQuotaUsed, limitUsed, limitRemaining, limitResets }: Instruments,
): void {
  for (const one of [groupQuotaUsed, limitUsed, limitRemaining, limitResets]) {
    one.reset();
  }
  for (const { scope, name, limit, ...values } of limits) {
    const labels = { scope, name, limit };
    limitUsed.set(labels, values.usedRatio);
    limitRemaining.set(labels, values.remaining);
    limitResets.set(labels, values.resetsAtMs / 1000);
  }
  for (const { used, ...labels } of limitWindows(groupQuotas)) {
    groupQuotaUsed.set({ ...labels }, used);
  }
}

/**
 * Returns at most {@linkcode MAX_WINDOWS} windows per connection and group, because providers choose the names of
 * windows.
 */
function limitWindows<
  Quota extends { readonly connection: string; readonly group?: string },
>(quotas: readonly Quota[]): readonly Quota[] {
  const counts = new Map<string, number>();
  return quotas.filter(({ connection, group = "" }) => {
    const key = `${group}\t${connection}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= MAX_WINDOWS;
  });
}

/** The connection and model whose answers are counted. */
interface GapLabels {
  readonly connection: string;
  readonly model: string;
}

/**
 * A histogram that adds all gaps of an answer at once. The client library's histogram adds one value at a time. For
 * each chunk, this would cost as much as the rest of the gateway.
 */
type GapHistogram = ReturnType<typeof createGapHistogram>;

const NAME = "model_gateway_chunk_gap_seconds";

interface Series {
  readonly labels: GapLabels;
  readonly counts: number[];
  count: number;
  sumMs: number;
}

/** Creates a histogram without any counts. */
function createGapHistogram() {
  const series = new Map<string, Series>();
  return {
    add(labels: GapLabels, gaps: ChunkGaps): void {
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
    /** Returns the current values in the form of the client library. */
    snapshot: () => ({
      name: NAME,
      help: "Time between two chunks of a streamed response to the caller",
      type: "histogram",
      aggregator: "sum",
      values: [...series.values()].flatMap(samplesOf),
    }),
  };
}

/** Returns the samples of a series. The sample of a bucket includes the counts of all smaller buckets. */
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
