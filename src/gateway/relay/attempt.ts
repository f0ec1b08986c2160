import type { Deployment } from "../config/config.ts";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { Operation, Protocol } from "@gateway/base/protocol";
import type { RequestFacts } from "../observe/facts.ts";
import type { Failure } from "@gateway/codecs";
import type { Exchange } from "./exchange.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { PromptParts } from "./request/prompt_parts.ts";
import type { RequestHead } from "./request/request_head.ts";
import type { Candidate } from "./routing/candidate.ts";

/** One request to one connection: the first, or another after failed attempts. */
export interface Attempt {
  readonly exchange: Exchange;
  readonly operation: Operation;
  /** The protocol of the body, if the operation does not define it. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly deployment: Deployment;
  /** The request's body, kept until the last attempt has sent it or a response has begun. */
  readonly body: KeptBody;
  /** The memory budget for the bytes that the attempt creates from the body. */
  readonly memory: MemoryShare;
  readonly head: RequestHead;
  /** The start of the attempt, on the clock of the deadlines. */
  readonly startedMs: number;
  /**
   * True when the attempt must open a new connection: for a probe, after an attempt on the same deployment that got no
   * response, and after the loss of any kept connection. What caused the loss, such as a firewall, may have cut other
   * kept connections without a sign.
   */
  readonly overNewConnection: boolean;
  /** Aborts this attempt alone. */
  readonly controller: AbortController;
  /** True when another attempt may follow this one. */
  readonly mayRepeat: boolean;
  /** True when another deployment is left for the next attempt. Only then is the beginning of a stream held back. */
  readonly mayFailOver: boolean;
  /** Returns true while other requests wait for the slot of the connection. */
  readonly isAwaited?: (() => boolean) | undefined;
  /**
   * Records an error that the upstream reports after a part of its answer was sent. Such an error names a cause. A
   * stream that breaks off names none.
   */
  noteFailure(failure: Failure): void;
  /** Records the parts of the translation that the upstream gets. */
  noteSent(parts: PromptParts): void;
}

/** Records the deployment of the last attempt. `candidate` is `undefined` when nothing was sent. */
export function noteDeployment(
  candidate: Candidate | undefined,
  facts: RequestFacts,
): void {
  facts.connection = candidate?.deployment.connection.name;
  facts.upstreamModel = candidate?.deployment.model.upstream;
  facts.region = candidate?.deployment.connection.region;
  facts.mode = candidate?.mode;
}

/**
 * Returns the timeout for the upstream's response headers, in milliseconds; 0 means none. For a stream, returns the
 * timeout for the first output instead, unless that timeout is longer.
 */
export function firstAnswerMs(attempt: Attempt): number {
  const { firstByteMs, firstOutputMs } = attempt.deployment.connection.timeouts;
  return endsAtOutput(attempt) ? firstOutputMs : firstByteMs;
}

/** Returns true when the deadline of the first output is no later than the deadline of the response headers. */
export function endsAtOutput({ deployment, head }: Attempt): boolean {
  const { firstByteMs, firstOutputMs } = deployment.connection.timeouts;
  return head.stream && firstOutputMs > 0 &&
    (firstByteMs === 0 || firstOutputMs <= firstByteMs);
}

/** Returns the time left for the first output of a stream, in milliseconds; `undefined` without a timeout. */
export function firstOutputRestMs(
  { deployment, startedMs }: Attempt,
  deadlines: Deadlines,
): number | undefined {
  const { firstOutputMs } = deployment.connection.timeouts;
  if (firstOutputMs === 0) return undefined;
  return Math.max(1, startedMs + firstOutputMs - deadlines.elapsedMs());
}
