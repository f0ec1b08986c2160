import type { GatewayError } from "@gateway/base/error";
import type { JsonObject } from "@gateway/base/json";
import {
  ERROR_TYPES,
  type Failure,
  SHAPE_BY_KIND,
  shownStatus,
} from "../canonical/failure/failure.ts";

/** Returns an error of the gateway. Both OpenAI protocols have errors of this form (docs/design.md#errors). */
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

/** The code for a context that is too long. On this code, clients of both protocols shorten their conversation. */
export const OVERFLOW_CODE = "context_length_exceeded";

/**
 * Returns the status for a failure. This is the provider's status, or the default of the failure's kind if callers must
 * not see that status. 529 is replaced too, because only Messages has this status.
 */
export function openAiStatus(failure: Failure): number {
  const status = shownStatus(failure);
  return status === undefined || status === 529
    ? SHAPE_BY_KIND[failure.kind][0]
    : status;
}
