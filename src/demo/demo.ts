import type { Clock } from "../core/time/timers.ts";
import type { Ids } from "../core/ids.ts";
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
}
