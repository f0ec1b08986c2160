import type { JsonObject, JsonValue } from "@gateway/base/json";

/** Adds `text` to the system message at the beginning, or inserts a system message if there is none. */
export function withInstruction(
  messages: readonly JsonObject[],
  text: string,
): JsonObject[] {
  const [first, ...others] = messages;
  const content = first?.role === "system"
    ? appended(first.content, text)
    : undefined;
  return content === undefined
    ? [{ role: "system", content: text }, ...messages]
    : [{ ...first, content }, ...others];
}

/**
 * Adds the instruction `nudge` at the end of the messages, so that the cached prefix stays valid. If the last message
 * is the user's, the instruction is added to that message. After the results of calls, the instruction becomes a user
 * message. If the last message is an answer that the model must continue, adds nothing.
 */
export function withNudge(
  messages: readonly JsonObject[],
  nudge: string | undefined,
): JsonObject[] {
  const last = messages.at(-1);
  if (nudge === undefined || last === undefined || last.role === "assistant") {
    return [...messages];
  }
  const text = `<system-reminder>\n${nudge}\n</system-reminder>`;
  const content = last.role === "user"
    ? appended(last.content, text)
    : undefined;
  return content === undefined
    ? [...messages, { role: "user", content: text }]
    : [...messages.slice(0, -1), { ...last, content }];
}

/** Returns `content` followed by `text`, as a new paragraph or part. */
function appended(
  content: JsonValue | undefined,
  text: string,
): JsonValue | undefined {
  if (typeof content === "string") {
    return content === "" ? text : `${content}\n\n${text}`;
  }
  return Array.isArray(content)
    ? [...content, { type: "text", text }]
    : undefined;
}
