import type { Caller, ConnectionModel } from "../config/config.ts";
import type { Price } from "../config/usage_limits.ts";
import { memoized } from "@gateway/base/memo";
import {
  type AnswerFacts,
  isUnsent,
  type RequestFacts,
} from "../observe/facts.ts";
import type { EndedRequest } from "../observe/metrics.ts";
import type { RequestRecord } from "../observe/record.ts";
import { estimateUsage, type Usage } from "@gateway/codecs";
import { COUNTS } from "../observe/logged_request.ts";
import { costNanos, type Counts, countsOf, UNSERVED } from "./counts.ts";
import type { Counting } from "./counting.ts";
import {
  type AdmittedUse,
  type CallDeployments,
  isNear,
  isRefusal,
  type Limiter,
  type LimitRefusal,
  type RequestLimitState,
} from "./limiter.ts";
import { type Soon, soon, type Sums } from "./sums.ts";
import { type CountedMiss, missCause } from "./tables.ts";

/** Counts one request over all of its calls. */
export interface Tally {
  /**
   * Reserves the need of a call from the limits, and releases the holds of the previous call.
   *
   * @returns The refusal, or `undefined` when the call may be made.
   */
  enter(deployments: CallDeployments): Soon<LimitRefusal | undefined>;
  /** Takes back the last `enter()` and releases the holds of its call. Used when the call was not made. */
  withdraw(): void;
  /** Returns the limits that were nearly used up at the last call. */
  near(): readonly RequestLimitState[];
  /** Returns all limits of the last call. */
  states(): readonly RequestLimitState[];
  /**
   * Counts the request at its end, if a provider was called, and releases the request's holds.
   *
   * @returns The facts of the request's answer, with the usage that was counted and the cost of this usage.
   */
  end(ended: EndedRequest): AnswerFacts;
}

/** The request to count. */
export interface TallyRequest {
  readonly record: RequestRecord;
  readonly caller: Caller;
  /** A rough count of the request's input tokens. */
  readonly estimatedTokens: number;
  /** The most output tokens that the request allows; `undefined` when the request sets no bound. */
  readonly maxOutputTokens?: number | undefined;
}

interface TallyOptions {
  readonly sums: Pick<Sums, "apply">;
  readonly counting: Pick<Counting, "count">;
  readonly limiter: Limiter;
  /** Returns the caller in the current configuration. */
  readonly current: (caller: Caller) => Caller;
  /** Returns milliseconds since 1970. */
  readonly now: () => number;
}

/** Opens the tally of a request. */
export function openTally(
  { record, caller, estimatedTokens, maxOutputTokens }: TallyRequest,
  options: TallyOptions,
): Tally {
  const startedMs = options.now();
  let called: CallDeployments | undefined;
  let calledBefore: CallDeployments | undefined;
  let admitted: AdmittedUse | undefined;
  let calls = 0;

  function release(): void {
    if (admitted === undefined || admitted.holds.length === 0) return;
    options.sums.apply({ additions: [], releases: admitted.holds });
    admitted = undefined;
  }

  function learn(
    result: AdmittedUse | LimitRefusal,
    deployments: CallDeployments,
  ): LimitRefusal | undefined {
    if (isRefusal(result)) return result;
    admitted = result;
    // The caller may have left while another process or thread decided.
    if (record.isFinished()) release();
    else [calledBefore, called] = [called, deployments];
    return undefined;
  }

  return {
    enter(deployments) {
      release();
      calls += 1;
      const id = calls === 1
        ? record.requestId
        : `${record.requestId}.${calls}`;
      const request = {
        ...{ id, estimatedTokens, startedMs, maxOutputTokens },
        session: record.facts.client?.session,
      };
      return soon(
        options.limiter.enter(caller, deployments, request),
        (result) => learn(result, deployments),
      );
    },
    withdraw() {
      release();
      called = calledBefore;
    },
    near: () => (admitted?.states ?? []).filter(isNear),
    states: () => admitted?.states ?? [],
    end(ended) {
      if (called === undefined || wasNeverSent(ended.facts)) {
        release();
        return ended.facts.answer;
      }
      const request = {
        caller: options.current(caller),
        connection: called[0].connection.name,
        atMs: options.now(),
        startedMs,
        session: record.facts.client?.session,
      };
      const { answer, uses } = settle(
        ended,
        { estimatedTokens, startedMs, called },
      );
      const output = answer.usage?.outputTokens;
      if (output !== undefined) options.limiter.learn(caller, output);
      uses.forEach((use, index) =>
        options.counting.count(
          { ...request, ...use, misses: index === 0 ? missesOf(answer) : [] },
          index === 0 ? admitted?.holds : undefined,
        )
      );
      return answer;
    },
  };
}

/**
 * Returns the model that an answer names: a model that the request names, else any model of the connection. The name
 * may be a short or dated form of a model's name.
 */
function modelNamed(
  name: string | undefined,
  [{ connection, model: called }, ...named]: CallDeployments,
): ConnectionModel | undefined {
  if (name === undefined || name === called.upstream) return called;
  const others = named.map(({ model }) => model);
  const isExact = ({ upstream }: ConnectionModel) => upstream === name;
  const isForm = ({ upstream }: ConnectionModel) => isFormOf(name, upstream);
  return others.find(isExact) ?? [called, ...others].find(isForm) ??
    connection.models.find(isExact) ?? connection.models.find(isForm);
}

/** Matches the provider in front of a model's name, as in `openai/gpt-x`. Routers add or leave out the provider. */
const PROVIDER_REGEXP = /^.*\//;
/**
 * Matches the variant at the end of a model's name, as in OpenRouter's `gpt-x:free`. Answers may leave out the variant.
 */
const VARIANT_REGEXP = /:[^:]*$/;
/**
 * Matches the version at the end of a model's name, as in `gpt-x-2026-01-01`. Answers may add the version that was
 * chosen.
 */
const VERSION_REGEXP = /[-@](?:\d{4}-\d\d-\d\d|\d\d-\d{4}|\d{3,8})$/;
const LATEST_REGEXP = /-latest$/;

/** Returns true when a name in an answer or a bill is a short, long or dated form of the requested name. */
export function isFormOf(name: string, upstream: string): boolean {
  if (name.length > MAX_NAME_LENGTH) return false;
  const { asked } = formsOf(upstream);
  return formsOf(name).answered.some((form) => asked.includes(form));
}

/**
 * The longest name that is compared, in characters. Forms of providers' names stay in memory, so their length is
 * bounded.
 */
const MAX_NAME_LENGTH = 200;

/**
 * Returns the forms of a name in requests and in answers. The forms are memoized, because many answers have the same
 * names.
 */
const formsOf = memoized((name) => {
  const bare = name.replace(PROVIDER_REGEXP, "");
  const asked = bare.replace(LATEST_REGEXP, "");
  return {
    asked: [asked, asked.replace(VARIANT_REGEXP, "")],
    answered: [bare, bare.replace(VERSION_REGEXP, "")],
  };
}, 1000);

/** Returns true when an answer's model name is not a form of any name in the request. */
function isSubstitute(
  name: string | undefined,
  called: CallDeployments,
): boolean {
  return name !== undefined &&
    called.every(({ model: { upstream } }) =>
      name !== upstream && !isFormOf(name, upstream)
    );
}

/** The usage of one model by a request. */
interface Settled {
  /** The model's id. */
  readonly model: string;
  readonly counts: Counts;
}

/**
 * Returns the final usage of a request by model, and the facts for log and metrics. The model that served comes first.
 */
function settle(
  ended: EndedRequest,
  { estimatedTokens, startedMs, called }: {
    readonly estimatedTokens: number;
    readonly startedMs: number;
    readonly called: CallDeployments;
  },
): { readonly answer: AnswerFacts; readonly uses: readonly Settled[] } {
  const { facts, ending } = ended;
  const answer = { ...facts.answer };
  const [{ model: first }] = called;
  const served = modelNamed(answer.model, called) ?? first;
  if (served !== first) {
    answer.served = { id: served.id, upstream: served.upstream };
  }
  if (isSubstitute(answer.model, called)) answer.substitute = answer.model;
  if (!isServed(ended)) {
    return { answer, uses: [{ model: served.id, counts: UNSERVED }] };
  }
  const isFinal = answer.usage !== undefined &&
    (ending === "complete" || answer.isUsageFinal === true);
  const usage = isFinal && answer.usage !== undefined
    ? answer.usage
    : estimated(facts, estimatedTokens);
  const usages = [...usageByModel(usage, served, called)];
  answer.usage = usages.map(([, one]) => one).reduce(addUsage);
  if (!isFinal) answer.isUsageEstimated = true;
  const uses = usages.map(([{ id, price }, one]) => ({
    model: id,
    usage: one,
    costNanos: price && costNanos(one, price, startedMs),
  }));
  if (uses.length > 1) answer.byModel = uses;
  answer.cacheMiss = pricedMiss(
    answer,
    uses[0],
    served.price && { price: served.price, startedMs },
  );
  const costs = uses.flatMap((use) => use.costNanos ?? []);
  if (costs.length > 0) {
    answer.costNanos = costs.reduce((sum, one) => sum + one);
  }
  const settled = usages.map(([{ id, price }, one], index) => {
    const isFirst = index === 0;
    const isEstimated = isFirst && !isFinal;
    const counts = countsOf(one, { price, startedMs, isEstimated });
    return { model: id, counts: isFirst ? counts : { ...counts, requests: 0 } };
  });
  return { answer, uses: settled };
}

function missesOf({ cacheMiss }: AnswerFacts): readonly CountedMiss[] {
  if (cacheMiss === undefined) return [];
  const { why, at, costNanos: nanos } = cacheMiss;
  return [{ cause: missCause(why, at), requests: 1, nanos }];
}

/** Adds the extra cost to a cache miss. The extra cost is the amount that a full cache would have saved. */
function pricedMiss(
  { cacheMiss }: AnswerFacts,
  used:
    | { readonly usage: Usage; readonly costNanos: number | undefined }
    | undefined,
  priced: { readonly price: Price; readonly startedMs: number } | undefined,
): AnswerFacts["cacheMiss"] {
  if (cacheMiss === undefined || used?.costNanos === undefined) {
    return cacheMiss;
  }
  if (priced === undefined) return cacheMiss;
  const { usage } = used;
  const { cachedInputTokens: read = 0, cacheWriteTokens: written = 0 } = usage;
  const whole = {
    ...usage,
    cachedInputTokens: read + cacheMiss.tokens,
    cacheWriteTokens: Math.max(0, written - cacheMiss.tokens),
  };
  const { price, startedMs } = priced;
  const saved = costNanos(whole, price, startedMs);
  return { ...cacheMiss, costNanos: used.costNanos - saved };
}

/**
 * Returns the usage of each model: first the model that served, then the models that this model called. The usage of an
 * unknown model is added to the model that served.
 */
function usageByModel(
  { others = [], ...own }: Usage,
  served: ConnectionModel,
  called: CallDeployments,
): ReadonlyMap<ConnectionModel, Usage> {
  const usages = new Map<ConnectionModel, Usage>([[served, own]]);
  for (const { model: name, usage } of others) {
    const model = name === undefined
      ? served
      : modelNamed(name, called) ?? served;
    const known = usages.get(model);
    usages.set(model, known === undefined ? usage : addUsage(known, usage));
  }
  return usages;
}

/** Returns true when every attempt ended before a request was sent. */
function wasNeverSent({ attempts }: RequestFacts): boolean {
  return attempts.length > 0 &&
    attempts.every(({ failed }) => isUnsent(failed?.why));
}

/** Returns the usage that the provider reported, if the request counts. */
export function reportedUsage(ended: EndedRequest): Usage | undefined {
  return isServed(ended) ? ended.facts.answer.usage : undefined;
}

/**
 * Returns true when the usage of a request counts. A caller who leaves before the answer does not stop the provider's
 * work, so the usage counts in that case, too.
 */
function isServed({ facts: { status = 500 }, ending }: EndedRequest): boolean {
  return status < 400 || ending === "client_abort";
}

/**
 * Returns an estimate of a broken answer's usage. It keeps the counts that the provider reported. The output is at
 * least as large as an estimate from the answer's text.
 */
function estimated(
  { answer: { usage, outputCharacters }, bytesOut }: RequestFacts,
  estimatedTokens: number,
): Usage {
  const rough = estimateUsage(
    usage?.inputTokens ?? estimatedTokens,
    outputCharacters ?? bytesOut,
  );
  return {
    ...usage,
    ...rough,
    outputTokens: Math.max(rough.outputTokens, usage?.outputTokens ?? 0),
  };
}

/** Returns the sum of two usages. The sum has the speed, tier and region of the first usage, and no `others`. */
function addUsage(one: Usage, other: Usage): Usage {
  const { inputTokens, outputTokens, speed, serviceTier, inferenceGeo } = one;
  const sums = COUNTS.map(([, name]) => {
    const [own, more] = [one[name], other[name]];
    return [name, own === undefined ? more : own + (more ?? 0)];
  });
  return {
    ...{ inputTokens, outputTokens, speed, serviceTier, inferenceGeo },
    refusal: one.refusal,
    ...Object.fromEntries(sums),
  };
}
