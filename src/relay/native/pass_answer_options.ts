import type { Clock } from "../../core/time/clock.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { Secrets } from "../../upstream/secrets.ts";
import type { Attempt } from "../attempt.ts";

/** How an upstream's answer goes to the caller. */
export interface PassAnswerOptions {
  readonly attempt: Attempt;
  /** Of the path and of the upstream. */
  readonly protocol: Protocol;
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
  /** What must not be seen in it. */
  readonly secrets: Secrets;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}
