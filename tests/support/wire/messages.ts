import type { JsonObject, JsonValue } from "../../../src/base/json.ts";

// The messages that Chat Completions and Messages write alike.

/** Returns a message of the user. */
export function fromUser(content: JsonValue): JsonObject {
  return { role: "user", content };
}

/** Returns a message of the model. */
export function fromModel(content: JsonValue): JsonObject {
  return { role: "assistant", content };
}

/** Returns a part of text. */
export function textPart(text: string): JsonObject {
  return { type: "text", text };
}
