import type { GatewayError } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { encodeOpenAiError } from "../canonical/failure/openai_error.ts";

/** Writes an error of the gateway's own; one that waiting alone helps against as {@linkcode usageLimit} has it. */
export function encodeError(error: GatewayError): object {
  const { error: shown } = encodeOpenAiError(error);
  return { error: { ...shown, ...usageLimit(error.resetsAtMs) } };
}

/**
 * The fields of an error that says that something is used up, as the back end of ChatGPT has them: Codex stops at this
 * one with the time, and repeats every other 429 (codex-rs/codex-api/src/api_bridge.rs of openai/codex).
 *
 * @param resetsAtMs When it begins anew, in milliseconds since 1970; nothing is written where that is not known.
 */
export function usageLimit(resetsAtMs: number | undefined): JsonObject {
  return resetsAtMs === undefined ? {} : {
    type: "usage_limit_reached",
    resets_at: Math.ceil(resetsAtMs / 1000),
  };
}
