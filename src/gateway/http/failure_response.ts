import { CallerLeft } from "../upstream/call.ts";
import { GatewayError } from "@gateway/base/error";
import { DEFAULT_PROTOCOL, type Protocol } from "@gateway/base/protocol";
import { retryAfterText, stopHeaders } from "@gateway/base/retry_after";
import type { Ending, RequestFacts } from "../observe/facts.ts";
import type { Log } from "../observe/log.ts";
import type { EventFields } from "../observe/log_events.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  CODECS,
  type Failure,
  meaningOf,
  UpstreamFailure,
} from "@gateway/codecs";
import { noteFailure } from "../relay/answer_failure.ts";
import { stamp } from "../relay/answer_headers.ts";

/** nginx's status for a disconnected caller. Nobody receives the response, but the log shows the status. */
const CALLER_LEFT_STATUS = 499;

/** The context of a failure. */
interface FailureResponseOptions {
  readonly protocol: Protocol;
  readonly record: RequestRecord;
  readonly log: Log;
}

/** A response, and the way in which the request ends. */
interface FailedRequest {
  readonly response: Response;
  readonly ending: Ending;
}

/**
 * Returns the response, in the caller's protocol, to a request that ended before its answer began. Sets the reason of
 * the failure in the facts of the request. For an unforeseen error, also writes an event to the log.
 */
export function failureResponse(
  thrown: unknown,
  { protocol, record, log }: FailureResponseOptions,
): FailedRequest {
  const { facts, requestId } = record;
  if (thrown instanceof CallerLeft) {
    const response = new Response(null, { status: CALLER_LEFT_STATUS });
    return { response, ending: "client_abort" };
  }
  if (thrown instanceof UpstreamFailure) {
    const response = upstreamFailureResponse(thrown.failure, protocol, record);
    return { response, ending: "error" };
  }
  const error = toGatewayError(thrown);
  if (error.kind === "internal") {
    log.write("unforeseen", unforeseenFields(thrown, requestId));
  }
  noteError(error, facts);
  const response = errorResponse(error, { protocol, requestId });
  return { response, ending: "error" };
}

/** The context of a failure when the request has no usable record. */
interface LastResponseOptions {
  /** The caller's protocol; `undefined` when the protocol is not known. */
  readonly protocol: Protocol | undefined;
  readonly requestId: string;
  readonly log: Log;
}

/**
 * Returns the response when the request could not be read, or when {@linkcode failureResponse} failed. Never throws.
 */
export function lastResponse(
  thrown: unknown,
  { protocol = DEFAULT_PROTOCOL, requestId, log }: LastResponseOptions,
): Response {
  try {
    log.write("unforeseen", unforeseenFields(thrown, requestId));
  } catch {
    // The log itself may have failed.
  }
  const error = toGatewayError(thrown);
  const response = errorResponse(error, { protocol, requestId });
  return stamp(response, protocol, requestId);
}

/** Returns a provider's failure as a response in the caller's protocol. */
function upstreamFailureResponse(
  failure: Failure,
  protocol: Protocol,
  { facts, requestId }: RequestRecord,
): Response {
  const { shown, isFinal } = meaningOf(failure);
  const { status, body } = CODECS[protocol].encodeFailure(shown, requestId);
  noteFailure(failure, facts);
  const { retryAfterMs } = shown;
  return Response.json(body, {
    status,
    headers: {
      ...(isFinal(status) && stopHeaders(protocol, status)),
      ...(retryAfterMs !== undefined &&
        { "retry-after": retryAfterText(retryAfterMs) }),
    },
  });
}

/**
 * Sets the facts of a request from its error. If no reason is known and the status is above 500, the error's message
 * becomes the reason. An `internal` error (500) is excluded, because its message is always the same.
 */
function noteError(error: GatewayError, facts: RequestFacts): void {
  facts.error = error.code ?? error.kind;
  facts.limit = error.limit;
  facts.group = error.group;
  if (error.kind === "timeout") facts.failure ??= "silent";
  const own = error.status > 500 ? error.message : undefined;
  const reason = facts.reason ?? error.reason ?? own;
  if (reason !== undefined) facts.reason = reason;
}

/**
 * Returns the error that the caller sees. An unforeseen error becomes `internal`, without its message, data and stack.
 * The original error becomes the `cause`, for the log.
 */
function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(
    "internal",
    "Cannot handle the request: the gateway failed. Report the request id to the administrator.",
    { cause: thrown },
  );
}

/** The recipient of an error. */
interface Addressee {
  /** The caller's protocol. */
  readonly protocol: Protocol;
  readonly requestId: string;
}

/** Returns an error as an HTTP response in the caller's protocol (docs/design.md#errors). */
function errorResponse(
  error: GatewayError,
  { protocol, requestId }: Addressee,
): Response {
  const body = CODECS[protocol].encodeError(error, requestId);
  return new Response(JSON.stringify(body), {
    status: error.status,
    headers: {
      ...(error.isFinal && stopHeaders(protocol, error.status)),
      ...error.headers,
      "content-type": "application/json",
    },
  });
}

/**
 * Returns the log fields of an unforeseen exception: its class and its stack. The message is left out, because it may
 * quote the caller's or the provider's data, as the message of `JSON.parse` does.
 */
function unforeseenFields(
  thrown: unknown,
  requestId: string,
): EventFields<"unforeseen"> {
  const isError = thrown instanceof Error;
  return {
    request_id: requestId,
    exception: isError ? thrown.name : typeof thrown,
    stack: isError ? framesOf(thrown) : [],
  };
}

/** Returns the frames of a stack. Skips the message before the frames, because its lines may look like frames. */
function framesOf({ stack = "", message }: Error): readonly string[] {
  const start = stack.indexOf(message);
  if (start === -1) return [];
  return stack.slice(start + message.length).split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
}
