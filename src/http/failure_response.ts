import type { GatewayError } from "../core/error.ts";
import { DEFAULT_PROTOCOL, type Protocol } from "../core/protocol.ts";
import { retryAfterText } from "../core/retry_after.ts";
import { NOT_AGAIN } from "../core/should_retry.ts";
import type { Log } from "../observe/log.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  type Failure,
  shownFailure,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import { stamp } from "../relay/request_id.ts";
import { CallerLeft } from "../upstream/call.ts";
import { errorResponse, toGatewayError } from "./error_response.ts";
import { unforeseenFields } from "./unforeseen.ts";

/** nginx's status for a caller who is gone; nobody receives it, the log shows it. */
const CALLER_LEFT_STATUS = 499;

/** What telling a caller of a failure needs beside what was thrown. */
export interface FailureResponseOptions {
  readonly protocol: Protocol;
  readonly record: RequestRecord;
  readonly log: Log;
}

/**
 * Whatever ended a request before its answer, as a response in the caller's protocol. Finishes the record;
 * what nobody foresaw goes to the log as well.
 */
export function failureResponse(
  thrown: unknown,
  { protocol, record, log }: FailureResponseOptions,
): Response {
  const { facts, requestId } = record;
  if (thrown instanceof CallerLeft) {
    facts.status = CALLER_LEFT_STATUS;
    record.finish("client_abort");
    return new Response(null, { status: CALLER_LEFT_STATUS });
  }
  if (thrown instanceof UpstreamFailure) {
    return upstreamFailureResponse(thrown.failure, protocol, record);
  }
  const error = toGatewayError(thrown);
  if (error.kind === "internal") {
    log.write("error", "unforeseen", unforeseenFields(thrown, requestId));
  }
  const response = errorResponse(error, { protocol, requestId });
  noteError(error, record);
  record.finish("error");
  return response;
}

/** What is known of a request whose failure could not be told. */
export interface LastResponseOptions {
  /** `undefined` where it is not known. */
  readonly protocol: Protocol | undefined;
  readonly requestId: string;
  readonly log: Log;
}

/** The answer where nothing of a request could be read, or telling of its failure failed, too. Never throws. */
export function lastResponse(
  thrown: unknown,
  { protocol = DEFAULT_PROTOCOL, requestId, log }: LastResponseOptions,
): Response {
  try {
    log.write("error", "unforeseen", unforeseenFields(thrown, requestId));
  } catch {
    // The log may be what failed.
  }
  const error = toGatewayError(thrown);
  const response = errorResponse(error, { protocol, requestId });
  return stamp(response, protocol, requestId);
}

/** An upstream's failure, in the caller's protocol. */
function upstreamFailureResponse(
  failure: Failure,
  protocol: Protocol,
  { facts, requestId, finish }: RequestRecord,
): Response {
  const shown = shownFailure(failure);
  const { status, body } = CODECS[protocol].encodeFailure(shown, requestId);
  facts.status = status;
  facts.error = shown.code ?? shown.kind;
  finish("error");
  return Response.json(body, { status, headers: headersOf(shown) });
}

function headersOf(
  { kind, status = 400, retryAfterMs, resetsAtMs }: Failure,
): Record<string, string> {
  if (kind === "oversized") return NOT_AGAIN;
  if (kind === "filtered" && status >= 500) return NOT_AGAIN;
  return {
    ...(resetsAtMs !== undefined && NOT_AGAIN),
    ...(retryAfterMs !== undefined &&
      { "retry-after": retryAfterText(retryAfterMs) }),
  };
}

function noteError(error: GatewayError, { facts }: RequestRecord): void {
  facts.status = error.status;
  facts.error = error.code ?? error.kind;
  if (error.kind === "upstream") facts.reason ??= error.message;
}
