import { isJsonObject, type JsonObject, listOf } from "@gateway/base/json";
import type { Scope } from "../dialect.ts";

/** The placeholder for reasoning that the history lacks and a provider requires. */
const UNKNOWN_REASONING = " ";

/** The placeholder for a message that the history lacks and a provider requires. */
const CONTINUED = "(continued)";

/** The scope of encoding turns. */
export interface TurnsScope extends Scope {
  /** True when the model thinks in this request. */
  readonly isThinking: boolean;
  /** True when the answer must continue the last turn. */
  readonly continues: boolean;
}

/** Adds the messages, marks and reasoning that some providers require in a history. */
export function fitMessages(
  encoded: JsonObject[],
  scope: TurnsScope,
): JsonObject[] {
  const { dialect, continues } = scope;
  const { turns } = dialect.ability;
  const messages = fillReasoning(encoded, scope);
  const fitted = turns.userAfterTool ? [...messages] : separateUsers(messages);
  if (turns.demandsUser && !fitted.some(({ role }) => role === "user")) {
    const start = fitted.findIndex(({ role }) => role !== "system");
    const at = start < 0 ? fitted.length : start;
    fitted.splice(at, 0, { role: "user", content: CONTINUED });
  }
  if (turns.namesResults) nameResults(fitted);
  const last = fitted.at(-1);
  if (dialect.continueField === undefined || !continues) return fitted;
  return last?.role === "assistant"
    ? [...fitted.slice(0, -1), { ...last, [dialect.continueField]: true }]
    : fitted;
}

/** Adds the name of the tool to each result in the messages. */
function nameResults(messages: JsonObject[]): void {
  const names = new Map<string, string>();
  messages.forEach((message, at) => {
    for (const call of listOf(message.tool_calls).filter(isJsonObject)) {
      const { id, function: called } = call;
      if (typeof id !== "string" || !isJsonObject(called)) continue;
      if (typeof called.name === "string") names.set(id, called.name);
    }
    const name = names.get(String(message.tool_call_id));
    if (message.role === "tool" && name !== undefined) {
      messages[at] = { ...message, name };
    }
  });
}

/** Inserts an assistant message between the result of a tool and the user's next message. */
function separateUsers(messages: readonly JsonObject[]): JsonObject[] {
  return messages.flatMap((message, at) =>
    message.role === "user" && messages[at - 1]?.role === "tool"
      ? [{ role: "assistant", content: CONTINUED }, message]
      : [message]
  );
}

/**
 * Adds placeholder reasoning to assistant messages that lack reasoning. While the model thinks, some providers require
 * reasoning on each message with calls. Other providers require reasoning on all assistant messages if one message has
 * reasoning.
 */
function fillReasoning(
  messages: JsonObject[],
  { dialect, isThinking }: TurnsScope,
): JsonObject[] {
  const field = dialect.reasoningField;
  if (field === undefined) return messages;
  const isKnown = messages.some((message) => message[field] !== undefined);
  const onAll = dialect.ability.turns.reasoningOnAll && isKnown;
  const onCalls = dialect.ability.turns.reasoningOfCalls && isThinking;
  for (const message of messages) {
    const isWanted = message.role === "assistant" &&
      (onAll || onCalls && message.tool_calls !== undefined) &&
      message.reasoning_details === undefined;
    if (isWanted) message[field] ??= UNKNOWN_REASONING;
  }
  return messages;
}
