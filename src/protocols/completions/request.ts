import type { JsonObject, JsonValue } from "../../core/json.ts";
import { invalidField } from "../canonical/request/invalid_request.ts";

/** Fields that a chat answer cannot honour, and the values at which they ask for nothing. */
const UNSUPPORTED: Readonly<Record<string, readonly JsonValue[]>> = {
  n: [1],
  best_of: [1],
  suffix: [""],
  echo: [false],
  logprobs: [],
};

/**
 * Makes a Chat Completions request of a legacy completions request: the prompt becomes what the user says.
 *
 * @throws {GatewayError} `invalid_request` with `param`, for a prompt that is not one text and for what a chat
 * answer cannot honour.
 */
export function chatRequestOf(body: JsonObject): JsonObject {
  const { prompt, ...rest } = body;
  const content = readPrompt(prompt);
  for (const [field, harmless] of Object.entries(UNSUPPORTED)) {
    const value = rest[field] ?? null;
    if (value !== null && !harmless.includes(value)) {
      throw invalidField(
        field,
        "cannot be honoured for this model. Remove it, or choose another model",
      );
    }
    delete rest[field];
  }
  return { ...rest, messages: [{ role: "user", content }] };
}

function readPrompt(prompt: JsonValue | undefined): string {
  const only = Array.isArray(prompt) && prompt.length === 1
    ? prompt[0]
    : prompt;
  if (typeof only === "string") return only;
  throw invalidField(
    "prompt",
    prompt === undefined || prompt === null
      ? "is missing"
      : "is not one text: send a string, lists and tokens are not supported for this model",
  );
}
