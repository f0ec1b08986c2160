import type { GatewayError } from "@gateway/base/error";
import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  type Failure,
  type FailureKind,
  shownFailure,
} from "../canonical/failure/failure.ts";
import { readFailure } from "../canonical/failure/failure_kind.ts";
import {
  encodeOpenAiError,
  openAiStatus,
  openAiType,
  OVERFLOW_CODE,
} from "../openai/errors.ts";

/**
 * Reads a provider's error of any shape. A server error without a status, such as an error inside an answer, gets the
 * status 500.
 */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const failure = readFailure(
    status,
    body,
    "chat",
    "The provider answered with an error",
  );
  return failure.kind === "server"
    ? { ...failure, status: failure.status ?? 500 }
    : failure;
}

/** Returns a failure as an HTTP error. */
export function encodeFailure(failure: Failure): EncodedFailure {
  const shown = shownFailure(failure);
  return { status: openAiStatus(shown), body: { error: errorObject(shown) } };
}

/**
 * Returns an error of the gateway. If a limit is exhausted, the error has the `code` at which clients stop, and the
 * gateway's own code as `type`. At any other `code`, Kimi Code 2.1.0 waits silently for the time in `retry-after`.
 */
export function encodeError(error: GatewayError): object {
  const { error: shown } = encodeOpenAiError(error);
  if (error.resetsAtMs === undefined) return { error: shown };
  const type = error.code ?? shown.type;
  return { error: { ...shown, type, code: CODE_BY_KIND.quota } };
}

/** Returns the `error` object of a body or of an error frame. */
export function errorObject(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  return {
    message: shown.message,
    type: openAiType(shown),
    param: shown.param ?? null,
    code: shown.kind === "context_too_long"
      ? OVERFLOW_CODE
      : shown.code ?? CODE_BY_KIND[shown.kind] ?? null,
  };
}

const CODE_BY_KIND: Readonly<Partial<Record<FailureKind, string>>> = {
  filtered: "content_filter",
  quota: "insufficient_quota",
  rate_limited: "rate_limit_exceeded",
};
