import type { Caller, Deployment } from "../config/config.ts";
import type { Ending, RequestFacts } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  estimateUsage,
  type Usage,
} from "../protocols/canonical/answer/usage.ts";
import { costNanos, type Counts, countsOf, UNSERVED } from "./counts.ts";
import type { Counting } from "./counting.ts";
import {
  type Hold,
  isRefusal,
  type Limiter,
  type LimitRefusal,
  type LimitState,
} from "./limiter.ts";
import type { Addition, Sums } from "./sums.ts";

/** Counts one request, whichever calls it takes. */
export interface Tally {
  /**
   * Reserves what a call of a deployment needs of the limits, and gives back what was reserved for the one before.
   *
   * @returns Why it must not be made; `undefined` when it may.
   */
  enter(
    deployment: Deployment,
  ): LimitRefusal | undefined | Promise<LimitRefusal | undefined>;
  /** The limits that are nearly used up, as of the last call. */
  near(): readonly LimitState[];
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
  readonly sums: Pick<Sums, "add">;
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
  let called: Deployment | undefined;
  let hold: Hold | undefined;

  record.onFinish((ending) => {
    const reserved = takeBack(hold);
    if (called === undefined) {
      if (reserved.length > 0) options.sums.add(reserved);
      return;
    }
    const counts = settle(record.facts, {
      ending,
      estimatedTokens,
      deployment: called,
    });
    options.counting.count({
      caller: options.current(caller),
      connection: called.connection.name,
      model: called.model.id,
      atMs: options.now(),
      counts,
    }, reserved);
  });

  function learn(
    result: Hold | LimitRefusal,
    deployment: Deployment,
  ): LimitRefusal | undefined {
    if (isRefusal(result)) return result;
    hold = result;
    called = deployment;
    return undefined;
  }

  return {
    enter(deployment) {
      const reserved = takeBack(hold);
      if (reserved.length > 0) options.sums.add(reserved);
      hold = undefined;
      const result = options.limiter.enter(caller, deployment, estimatedTokens);
      return result instanceof Promise
        ? result.then((one) => learn(one, deployment))
        : learn(result, deployment);
    },
    near: () => hold?.near ?? [],
  };
}

function takeBack(hold: Hold | undefined): readonly Addition[] {
  return (hold?.reserved ?? [])
    .map(({ sum, amount }) => ({ sum, amount: -amount }));
}

/** What a request used after all; its facts then say so, for the log and the metrics. */
function settle(
  facts: RequestFacts,
  { ending, estimatedTokens, deployment: { model: { price } } }: {
    readonly ending: Ending;
    readonly estimatedTokens: number;
    readonly deployment: Deployment;
  },
): Counts {
  if (!isServed(facts, ending)) return UNSERVED;
  const { answer } = facts;
  const isFinal = answer.usage !== undefined &&
    (ending === "complete" || answer.isUsageFinal === true);
  const usage = isFinal && answer.usage !== undefined
    ? answer.usage
    : estimated(facts, estimatedTokens);
  answer.usage = usage;
  if (!isFinal) answer.isUsageEstimated = true;
  if (price !== undefined) answer.costNanos = costNanos(usage, price);
  return countsOf(usage, { price, isEstimated: !isFinal });
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
