import type { Clock } from "../core/time/timers.ts";
import type { Ids } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { AskOfBody } from "./ask/ask.ts";
import type { SimulatedOperation } from "./providers.ts";
import type { Quota } from "./quota/quota.ts";
import type { Wait } from "./wait.ts";

/** What the whole simulation shares: one a program, or one a test. */
export interface Demo {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wait: Wait;
  /** Milliseconds for one word of an answer; 0 answers without waiting. */
  readonly wordMs: number;
  readonly quota: Quota;
  readonly judge: Judge;
}

/**
 * Refuses requests that the demo would answer.
 *
 * @throws {Refusal} For a request that is not good enough.
 */
export type Judge = (asked: {
  readonly operation: SimulatedOperation;
  readonly body: JsonObject;
  /** What the demo made of the body. */
  readonly ask: AskOfBody;
}) => void;
