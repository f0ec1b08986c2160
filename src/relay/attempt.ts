import type { Deployment } from "../config/config.ts";
import type { Deadlines } from "../core/time/deadlines.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import type { Operation, Protocol } from "../core/protocol.ts";
import { type CodexQuota, hasCodexQuota } from "../quotas/codex_quota.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import type { Exchange } from "./exchange.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import type { KeptBody } from "./request/held_body.ts";
import type { RequestHead } from "./request/request_head.ts";

/** One call of one connection for a request, whatever came of the ones before. */
export interface Attempt {
  readonly exchange: Exchange;
  readonly operation: Operation;
  /** The protocol of the body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly deployment: Deployment;
  /** There until the attempt that is the last has it, or an answer goes to the caller. */
  readonly body: KeptBody;
  /** For what the attempt makes of the body. */
  readonly memory: MemoryShare;
  readonly head: RequestHead;
  /** When it began, on the clock of the deadlines. */
  readonly startedMs: number;
  /** Ends this attempt alone. */
  readonly controller: AbortController;
  /** Whether another attempt may follow this one. */
  readonly mayRepeat: boolean;
  /** Whether it may go elsewhere; only then is the beginning of a stream held back. */
  readonly mayMoveOn: boolean;
  /** Told what an answer said of a failure when some of it had gone out: that, and no break, is its evidence. */
  noteFailure(failure: Failure): void;
}

/** Names the model that served where it is not the one that was asked for. */
export function standInHeader(
  { deployment: { model }, head }: Attempt,
): [string, string][] {
  return model.id === head.model
    ? []
    : [["x-gateway-model", encodeURI(model.id.toWellFormed())]];
}

/**
 * What is known of the connection's quota, for callers of Responses, of whom Codex shows it; nothing where the provider
 * has said so itself.
 *
 * @param answer The provider's headers, as far as the caller gets them.
 */
export function quotaHeaders(
  { operation, deployment: { connection } }: Attempt,
  codexQuota: CodexQuota,
  answer?: HeaderFields | undefined,
): readonly [string, string][] {
  if (operation !== "responses") return [];
  return answer !== undefined && hasCodexQuota(answer)
    ? []
    : codexQuota.headersOf(connection);
}

/**
 * How long the upstream may take to its response headers, in milliseconds; 0 means forever. What has no
 * headers in time has no output in time either.
 */
export function firstAnswerMs({ deployment, head }: Attempt): number {
  const { firstByteMs, firstOutputMs } = deployment.connection.timeouts;
  if (!head.stream || firstOutputMs === 0) return firstByteMs;
  return firstByteMs === 0
    ? firstOutputMs
    : Math.min(firstByteMs, firstOutputMs);
}

/** How long a stream's first output may take yet, in milliseconds; `undefined` when there is no such deadline. */
export function firstOutputRestMs(
  { deployment, startedMs }: Attempt,
  deadlines: Deadlines,
): number | undefined {
  const { firstOutputMs } = deployment.connection.timeouts;
  if (firstOutputMs === 0) return undefined;
  return Math.max(1, startedMs + firstOutputMs - deadlines.elapsedMs());
}
