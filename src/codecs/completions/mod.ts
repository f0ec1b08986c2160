import type { SseComment, SseFrame } from "@gateway/base/frame";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type { CallerCodec, StreamEncoder } from "../canonical/codec.ts";
import { invalidField } from "../canonical/request/invalid_request.ts";
import { chatCodec } from "../chat/mod.ts";

/**
 * The codec of legacy completions, for models that have only a chat interface. The prompt becomes one user message, and
 * the text of the answer becomes the completion. Only callers use this protocol, so there is no decoder for upstreams.
 */
export const completionsCodec: CallerCodec = {
  protocol: "chat",
  fieldNames: {
    ...chatCodec.fieldNames,
    messages: "prompt",
    maxOutputTokens: "max_tokens",
  },
  decodeRequest: (body) => chatCodec.decodeRequest(chatRequestOf(body)),
  encodeAnswer: (answer, context) =>
    completionOf(chatCodec.encodeAnswer(answer, context)),
  createStreamEncoder(context) {
    return completionEncoder(chatCodec.createStreamEncoder(context));
  },
  encodeFailure: chatCodec.encodeFailure,
};

function completionEncoder(chat: StreamEncoder): StreamEncoder {
  const convert = (emit: Emit<SseFrame>): Emit<SseFrame> => (frame) => {
    const completion = completionFrameOf(frame);
    if (completion !== undefined) emit(completion);
  };
  return {
    push: (event, emit) => chat.push(event, convert(emit)),
    end: (emit) => chat.end(convert(emit)),
    keepAlive: (emit: Emit<SseFrame | SseComment>) => chat.keepAlive(emit),
  };
}

/** The fields that the translation does not support. Each has the list of its values that have no effect. */
const UNSUPPORTED: Readonly<Record<string, readonly JsonValue[]>> = {
  n: [1],
  best_of: [1],
  suffix: [""],
  echo: [false],
  logprobs: [],
};

/**
 * Converts a legacy completions request into a Chat Completions request. The prompt becomes a user message.
 *
 * @throws {GatewayError} `invalid_request` with `param`, if the prompt is not a single text or a field is not
 * supported.
 */
function chatRequestOf(body: JsonObject): JsonObject {
  const { prompt, ...rest } = body;
  const content = readPrompt(prompt);
  for (const [field, harmless] of Object.entries(UNSUPPORTED)) {
    const value = rest[field] ?? null;
    if (value !== null && !harmless.includes(value)) {
      throw invalidField(
        field,
        "is not supported for this model. Remove it, or choose another model",
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
      : "is not a single text. Send one string, because this model does not accept several prompts or tokens",
  );
}

/** Converts a Chat Completions answer into a legacy completions answer. A legacy answer contains only text. */
function completionOf(chat: JsonObject): JsonObject {
  return completionObject(chat, (choice) => textAt(choice.message));
}

/**
 * Converts a Chat chunk into a legacy chunk. Returns `undefined` for a chunk without text, end or usage. Error frames
 * are returned unchanged.
 */
function completionFrameOf(frame: SseFrame): SseFrame | undefined {
  const chunk = parseJson(frame.data);
  if (!isJsonObject(chunk) || chunk.object !== "chat.completion.chunk") {
    return frame;
  }
  const completion = completionObject(chunk, (choice) => textAt(choice.delta));
  return hasContent(completion)
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

/** Returns true for a chunk with text, an end or usage. */
function hasContent({ choices, usage }: JsonObject): boolean {
  const changesChoice = Array.isArray(choices) &&
    choices.some((choice) =>
      isJsonObject(choice) &&
      (choice.text !== "" || choice.finish_reason !== null)
    );
  return changesChoice || isJsonObject(usage);
}
