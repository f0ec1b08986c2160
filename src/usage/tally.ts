import type { Caller, ConnectionModel } from "../config/config.ts";
import type { Ending, RequestFacts } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  addUsage,
  estimateUsage,
  type Usage,
} from "../protocols/canonical/answer/answer.ts";
import { costNanos, type Counts, countsOf, UNSERVED } from "./counts.ts";
import type { Counting } from "./counting.ts";
import {
  type Admitted,
  type CallDeployments,
  isRefusal,
  type Limiter,
  type LimitRefusal,
  type RequestLimitState,
} from "./limiter.ts";
import { type Soon, soon, type Sums } from "./sums.ts";

/** Counts one request, whichever calls it takes. */
export interface Tally {
  /**
   * Reserves what a call needs of the limits, and releases what the call before held.
   *
   * @returns Why it must not be made; `undefined` when it may.
   */
  enter(deployments: CallDeployments): Soon<LimitRefusal | undefined>;
  /** The limits that are nearly used up, as of the last call. */
  near(): readonly RequestLimitState[];
}

/** The request that is counted. */
export interface TallyRequest {
  readonly record: RequestRecord;
  readonly caller: Caller;
  /** A rough count of its input tokens. */
  readonly estimatedTokens: number;
}

/** What {@linkcode openTally} needs. */
export interface TallyOptions {
  readonly sums: Pick<Sums, "apply">;
  readonly counting: Counting;
  readonly limiter: Limiter;
  /** The caller as the configuration in use has it now. */
  readonly current: (caller: Caller) => Caller;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Counts a request when its record finishes, if any provider was called; the record learns what it cost. */
export function openTally(
  { record, caller, estimatedTokens }: TallyRequest,
  options: TallyOptions,
): Tally {
  let called: CallDeployments | undefined;
  let admitted: Admitted | undefined;
  let calls = 0;

  function release(): void {
    if (admitted === undefined || admitted.holds.length === 0) return;
    options.sums.apply({ additions: [], releases: admitted.holds });
    admitted = undefined;
  }

  record.onFinish((ending) => {
    if (called === undefined || isUnsent(record.facts)) return release();
    const request = {
      caller: options.current(caller),
      connection: called[0].connection.name,
      atMs: options.now(),
    };
    const settled = settle(record.facts, { ending, estimatedTokens, called });
    settled.forEach((use, index) =>
      options.counting.count(
        { ...request, ...use },
        index === 0 ? admitted?.holds : undefined,
      )
    );
  });

  function learn(
    result: Admitted | LimitRefusal,
    deployments: CallDeployments,
  ): LimitRefusal | undefined {
    if (isRefusal(result)) return result;
    admitted = result;
    // The caller may have left while another process or thread was asked.
    if (record.isFinished()) release();
    else called = deployments;
    return undefined;
  }

  return {
    enter(deployments) {
      release();
      calls += 1;
      const id = calls === 1
        ? record.requestId
        : `${record.requestId}.${calls}`;
      const request = { id, estimatedTokens };
      return soon(
        options.limiter.enter(caller, deployments, request),
        (result) => learn(result, deployments),
      );
    },
    near: () => admitted?.near ?? [],
  };
}

/**
 * Returns the model that a name in an answer stands for: one that the body named, or else any of the connection. A
 * name that is not exactly a model's may be its short or dated form.
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

/** A provider before a name, which routers add or leave out: `openai/gpt-x`. */
const PROVIDER_REGEXP = /^.*\//;
/** The way to run a model, which answers may leave out: `gpt-x:free`, of OpenRouter. */
const VARIANT_REGEXP = /:[^:]*$/;
/** The version that a provider has taken, which answers may add: `gpt-x-2026-01-01`. */
const VERSION_REGEXP = /[-@](?:\d{4}-\d\d-\d\d|\d\d-\d{4}|\d{3,8})$/;
const LATEST_REGEXP = /-latest$/;

function isFormOf(name: string, upstream: string): boolean {
  const asked = upstream.replace(PROVIDER_REGEXP, "")
    .replace(LATEST_REGEXP, "");
  const forms = [asked, asked.replace(VARIANT_REGEXP, "")];
  const answered = name.replace(PROVIDER_REGEXP, "");
  return forms.includes(answered) ||
    forms.includes(answered.replace(VERSION_REGEXP, ""));
}

/** What a request used of one model. */
interface Settled {
  /** Its id. */
  readonly model: string;
  readonly counts: Counts;
}

/** What a request used after all, of the model that served it first; its facts then say so, for log and metrics. */
function settle(
  facts: RequestFacts,
  { ending, estimatedTokens, called }: {
    readonly ending: Ending;
    readonly estimatedTokens: number;
    readonly called: CallDeployments;
  },
): readonly Settled[] {
  const { answer } = facts;
  const [{ model: first }] = called;
  const served = modelNamed(answer.model, called) ?? first;
  if (served !== first) {
    answer.served = { id: served.id, upstream: served.upstream };
  }
  if (!isServed(facts, ending)) return [{ model: served.id, counts: UNSERVED }];
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
    costNanos: price && costNanos(one, price),
  }));
  if (uses.length > 1) answer.byModel = uses;
  const costs = uses.flatMap((use) => use.costNanos ?? []);
  if (costs.length > 0) {
    answer.costNanos = costs.reduce((sum, one) => sum + one);
  }
  return usages.map(([{ id, price }, one], index) => {
    const isFirst = index === 0;
    const isEstimated = isFirst && !isFinal;
    const counts = countsOf(one, { price, isEstimated });
    return { model: id, counts: isFirst ? counts : { ...counts, requests: 0 } };
  });
}

/** What each model used: the one that served, then others that it had asked. A name of no model is its own. */
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

/** Whether the one attempt that was made ended before a provider was asked. */
function isUnsent({ failure, attempts }: RequestFacts): boolean {
  return failure === "untranslatable" && attempts.length === 1;
}

/** Who leaves before there is an answer leaves a provider behind that reads the request all the same. */
function isServed({ status = 500 }: RequestFacts, ending: Ending): boolean {
  return status < 400 || ending === "client_abort";
}

/** What went through: the counts that came before the answer broke off, and at least what its text is worth. */
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
