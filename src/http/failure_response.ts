import { GatewayError } from "../core/error.ts";
import { DEFAULT_PROTOCOL, type Protocol } from "../core/protocol.ts";
import { retryAfterText, stopHeaders } from "../core/retry_after.ts";
import type { Ending, RequestFacts } from "../observe/facts.ts";
import type { Log } from "../observe/log.ts";
import type { EventFields } from "../observe/log_events.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  type Failure,
  isFinal,
  shownFailure,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import { noteFailure } from "../relay/answer_failure.ts";
import { stamp } from "../relay/request_id.ts";
import { CallerLeft } from "../upstream/call.ts";

/** nginx's status for a caller who is gone; nobody receives it, the log shows it. */
const CALLER_LEFT_STATUS = 499;

/** What telling a caller of a failure needs beside what was thrown. */
interface FailureResponseOptions {
  readonly protocol: Protocol;
  readonly record: RequestRecord;
  readonly log: Log;
}

/** A response, and how the request ends with it. */
interface FailedRequest {
  readonly response: Response;
  readonly ending: Ending;
}

/**
 * Returns whatever ended a request before its answer as a response in the caller's protocol. The facts of the request
 * say why; what nobody foresaw is an event of its own in the log.
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

/** What is known of a request whose failure could not be told. */
interface LastResponseOptions {
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
    log.write("unforeseen", unforeseenFields(thrown, requestId));
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
  { facts, requestId }: RequestRecord,
): Response {
  const shown = shownFailure(failure);
  const { status, body } = CODECS[protocol].encodeFailure(shown, requestId);
  noteFailure(failure, facts);
  const { retryAfterMs } = shown;
  return Response.json(body, {
    status,
    headers: {
      ...(isFinal(failure, status) && stopHeaders(protocol, status)),
      ...(retryAfterMs !== undefined &&
        { "retry-after": retryAfterText(retryAfterMs) }),
    },
  });
}

/** The message of a 5xx is the gateway's words alone, and that of an `internal` error says nothing. */
function noteError(error: GatewayError, facts: RequestFacts): void {
  facts.error = error.code ?? error.kind;
  facts.limit = error.limit;
  facts.group = error.group;
  if (error.kind === "timeout") facts.failure ??= "silent";
  if (error.status > 500) facts.reason ??= error.message;
}

/**
 * Turns whatever was thrown into the error that the caller sees. What nobody foresaw becomes `internal`,
 * its message, data and stack withheld; the original stays as `cause` for the log.
 */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(
    "internal",
    "The gateway failed to handle the request: report the request id to the administrator",
    { cause: thrown },
  );
}

/** Who gets an error. */
interface Addressee {
  /** The protocol that the caller speaks. */
  readonly protocol: Protocol;
  readonly requestId: string;
}

/** An error as an HTTP response in the caller's protocol (docs/design.md#errors). */
export function errorResponse(
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
 * What the log says of an exception that nobody foresaw: its class and where it came from. Not its message,
 * which may quote what the caller or the upstream sent, as that of `JSON.parse` does.
 */
export function unforeseenFields(
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

/** The message stands before the frames and may have lines that look like some. */
function framesOf({ stack = "", message }: Error): readonly string[] {
  const start = stack.indexOf(message);
  if (start === -1) return [];
  return stack.slice(start + message.length).split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
}
