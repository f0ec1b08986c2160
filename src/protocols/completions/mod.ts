import type { SseComment, SseFrame } from "../../core/frame.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import type { CallerCodec, StreamEncoder } from "../canonical/codec.ts";
import { invalidField } from "../canonical/request/invalid_request.ts";
import { chatCodec } from "../chat/mod.ts";

/**
 * Legacy completions for callers whose model has a chat interface alone: a prompt is one message of the user,
 * an answer is its text. Only callers speak it, so there is nothing to read of an upstream.
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
    return respelling(chatCodec.createStreamEncoder(context));
  },
  encodeFailure: chatCodec.encodeFailure,
};

function respelling(chat: StreamEncoder): StreamEncoder {
  const respell = (emit: Emit<SseFrame>): Emit<SseFrame> => (frame) => {
    const completion = completionFrameOf(frame);
    if (completion !== undefined) emit(completion);
  };
  return {
    push: (event, emit) => chat.push(event, respell(emit)),
    end: (emit) => chat.end(respell(emit)),
    keepAlive: (emit: Emit<SseFrame | SseComment>) => chat.keepAlive(emit),
  };
}

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
function chatRequestOf(body: JsonObject): JsonObject {
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

/** Makes a legacy completions answer of a Chat Completions answer; only text has a place in it. */
function completionOf(chat: JsonObject): JsonObject {
  return completionObject(chat, (choice) => textAt(choice.message));
}

/**
 * Makes a legacy completions chunk of a Chat Completions chunk. Errors and `[DONE]` are the same in both.
 *
 * @returns `undefined` for a chunk that has nothing to tell here.
 */
function completionFrameOf(frame: SseFrame): SseFrame | undefined {
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
