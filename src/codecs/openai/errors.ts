import type { GatewayError } from "@gateway/base/error";
import type { JsonObject } from "@gateway/base/json";
import {
  ERROR_TYPES,
  type Failure,
  SHAPE_BY_KIND,
  shownStatus,
} from "../canonical/failure/failure.ts";

/** Returns an error of the gateway in the form of both OpenAI protocols (docs/design.md#errors). */
export function encodeOpenAiError(
  error: GatewayError,
): { readonly error: JsonObject } {
  return {
    error: {
      message: error.message,
      type: error.type ?? ERROR_TYPES[error.kind],
      param: error.param ?? null,
      code: error.code ?? null,
    },
  };
}

/** Returns the `type` of an error in Chat Completions and Responses. */
export function openAiType({ kind }: Failure): string {
  return SHAPE_BY_KIND[kind][1];
}

/** The code of an exceeded context, on which clients of both protocols shorten their conversation. */
export const OVERFLOW_CODE = "context_length_exceeded";

/**
 * Returns the provider's status. A default replaces a status that callers must not see, and 529, which only Messages
 * has.
 */
export function openAiStatus(failure: Failure): number {
  const status = shownStatus(failure);
  return status === undefined || status === 529
    ? SHAPE_BY_KIND[failure.kind][0]
    : status;
}
