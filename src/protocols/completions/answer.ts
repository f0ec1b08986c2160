import type { SseFrame } from "../../core/frame.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";

/** Makes a legacy completions answer of a Chat Completions answer; only text has a place in it. */
export function completionOf(chat: JsonObject): JsonObject {
  return completionObject(chat, (choice) => textAt(choice.message));
}

/**
 * Makes a legacy completions chunk of a Chat Completions chunk. Errors and `[DONE]` are the same in both.
 *
 * @returns `undefined` for a chunk that has nothing to tell here.
 */
export function completionFrameOf(frame: SseFrame): SseFrame | undefined {
  const chunk = parseJson(frame.data);
  if (!isJsonObject(chunk) || chunk.object !== "chat.completion.chunk") {
    return frame;
  }
  const completion = completionObject(chunk, (choice) => textAt(choice.delta));
  return hasNews(completion)
    ? { ...frame, data: JSON.stringify(completion) }
    : undefined;
}

function completionObject(
  chat: JsonObject,
  textOf: (choice: JsonObject) => string,
): JsonObject {
  const choices = Array.isArray(chat.choices) ? chat.choices : [];
  return {
    ...chat,
    object: "text_completion",
    choices: choices.filter(isJsonObject).map((choice) => ({
      text: textOf(choice),
      index: choice.index ?? 0,
      logprobs: null,
      finish_reason: choice.finish_reason ?? null,
    })),
  };
}

function textAt(message: unknown): string {
  return isJsonObject(message) && typeof message.content === "string"
    ? message.content
    : "";
}

/** A chunk with text, an end or usage. */
function hasNews({ choices, usage }: JsonObject): boolean {
  const changesChoice = Array.isArray(choices) &&
    choices.some((choice) =>
      isJsonObject(choice) &&
      (choice.text !== "" || choice.finish_reason !== null)
    );
  return changesChoice || isJsonObject(usage);
}
