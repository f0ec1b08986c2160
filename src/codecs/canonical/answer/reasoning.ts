import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";

/**
 * Reads `input_transformations`. In this field, upstreams list the earlier reasoning that they dropped from a request:
 * `thinking_dropped` in Messages, `removed` in Responses.
 *
 * @returns The upstream's reasons, each once; an empty object when no reasoning was dropped.
 */
export function readDroppedReasoning(
  transformations: JsonValue | undefined,
): { readonly reasoningDropped?: readonly string[] } {
  const entries = Array.isArray(transformations) ? transformations : [];
  const reasons = entries.filter(isJsonObject).filter(({ type, action }) =>
    type === "thinking_dropped" || type === "reasoning" && action === "removed"
  ).map(({ reason }) =>
    typeof reason === "string" && WORD_REGEXP.test(reason) ? reason : "other"
  );
  return reasons.length === 0
    ? {}
    : { reasoningDropped: [...new Set(reasons)].slice(0, MAX_REASONS) };
}

/** Returns the reasons of {@linkcode readDroppedReasoning} in an event or an answer, or in its `inner` object. */
export function droppedIn(
  body: JsonObject,
  inner: JsonValue | undefined,
): readonly string[] {
  return [body, inner].filter(isJsonObject).flatMap((holder) =>
    readDroppedReasoning(holder.input_transformations).reasoningDropped ?? []
  );
}

/** The most reasons that go into the log. No provider has more reasons. */
const MAX_REASONS = 8;

const WORD_REGEXP = /^[a-z_]{1,64}$/;
