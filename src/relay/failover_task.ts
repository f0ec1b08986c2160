import type { Operation, Protocol } from "../core/protocol.ts";
import type { Tally } from "../usage/tally.ts";
import type { Exchange } from "./exchange.ts";
import type { FailedAttempt } from "./next_attempts.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { RequestHead } from "./request/request_head.ts";
import type { NamedInBody } from "./routing/allow_named_models.ts";
import type { RoutedCandidates } from "./routing/quota_routing.ts";

/** What is to be served, and every way in which it could be. */
export interface FailoverTask {
  readonly operation: Operation;
  /** The protocol of the body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly body: KeptBody;
  readonly memory: MemoryShare;
  readonly head: RequestHead;
  readonly named: NamedInBody;
  readonly candidates: RoutedCandidates;
  /** Counts the request; absent for one that nobody counts. */
  readonly tally: Tally | undefined;
}

/** The request so far. */
export interface AttemptContext {
  readonly exchange: Exchange;
  readonly task: FailoverTask;
  readonly failed: readonly FailedAttempt[];
}
