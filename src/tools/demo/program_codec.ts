import type { JsonObject } from "@gateway/base/json";
import { shortDigest } from "@gateway/base/sha256";
import { FrameWriter } from "@gateway/base/streams/sse";
import {
  type AnswerEvent,
  callerCodec,
  type CanonicalRequest,
  CODECS,
  foldAnswer,
} from "@gateway/codecs";
import {
  OVERLOADED,
  type SimulatedOperation,
  type SimulatedProtocol,
} from "./providers.ts";
import {
  type DemoCodec,
  piecesOf,
  type RenderContext,
  type Script,
  type ScriptBlock,
  textsOf,
} from "./script.ts";
import { type Step, write } from "./speak.ts";

/**
 * The protocols through the program's own codecs: a simulated provider reads and writes as the gateway does for a
 * caller. `tests/support/upstream/strict_provider` shares no code with the codecs, so that it can check them.
 */
export const programCodec: DemoCodec = {
  read(operation, body) {
    const codec = callerCodec({ operation });
    const isCount = operation === "count_tokens";
    const request = codec.decodeRequest(completed(operation, body));
    return {
      request,
      render(script, context) {
        const { ids, nowMs, requestId, ask } = context;
        const answerContext = {
          ...{ ids, nowMs, requestId, request },
          model: ask.model,
          estimatedInputTokens: script.usage.inputTokens,
          connectionId: "demo",
          drop() {},
        };
        const answer = () =>
          codec.encodeAnswer(
            foldAnswer([...eventsOf(script, context)]),
            answerContext,
          );
        if (isCount) {
          return {
            whole: () => ({ input_tokens: script.usage.inputTokens }),
          };
        }
        if (operation === "compact") {
          return {
            whole() {
              const { output, ...rest } = answer();
              const items = Array.isArray(output) ? output : [];
              return {
                ...rest,
                object: "response.compaction",
                output: [...userMessages(request, ids), ...items],
              };
            },
          };
        }
        return {
          whole: answer,
          steps({ isFailing }) {
            const all = [...eventsOf(script, context)];
            const events = isFailing
              ? [...all.slice(0, Math.ceil(all.length / 2)), FAILURE]
              : all;
            return encode(events, codec.createStreamEncoder(answerContext));
          },
        };
      },
    };
  },
  writeError: (error, { protocol, requestId }) =>
    CODECS[protocol].encodeError(error, requestId),
};

const FAILURE: AnswerEvent = { type: "failure", failure: OVERLOADED };

/** Yields the canonical events of an answer. */
function* eventsOf(
  { blocks, stop, usage }: Script,
  { ids, nowMs, ask: { model, protocol } }: RenderContext,
): Generator<AnswerEvent> {
  yield {
    type: "start",
    id: "",
    model,
    createdAtMs: nowMs,
    usage: { ...usage, outputTokens: 1, reasoningTokens: 0 },
  };
  for (const [index, block] of blocks.entries()) {
    const isReasoning = block.kind === "reasoning";
    yield { type: "block-start", index, block: headOf(block, ids) };
    if (isReasoning && !block.isHidden) {
      yield { type: "block-part", index, form: "summary" };
    }
    for (const text of block.isHidden ? [] : piecesOf(block)) {
      yield { type: "block-delta", index, text };
    }
    const form = SEAL_FORMS[protocol];
    if (isReasoning && form !== undefined) {
      const sealed = { protocol, form, value: shortDigest(block.text) };
      yield { type: "block-seal", index, sealed };
    }
    yield { type: "block-end", index };
  }
  yield { type: "end", stop, usage };
}

/** The form of sealed reasoning in each protocol that has one. */
const SEAL_FORMS: Readonly<Partial<Record<SimulatedProtocol, string>>> = {
  messages: "signature",
  responses: "encrypted_content",
};

function headOf(
  { kind, name = "", namespace }: ScriptBlock,
  ids: RenderContext["ids"],
): Extract<AnswerEvent, { readonly type: "block-start" }>["block"] {
  return kind === "text" || kind === "reasoning"
    ? { kind }
    : { kind, id: ids.next("call"), name, namespace };
}

/** Encodes events as a stream. Each delta is sent after one word's delay. */
function* encode(
  events: readonly AnswerEvent[],
  encoder: ReturnType<
    ReturnType<typeof callerCodec>["createStreamEncoder"]
  >,
): Generator<Step> {
  const frames = new FrameWriter();
  for (const event of events) {
    encoder.push(event, frames.write);
    const text = frames.take();
    const wordCount = event.type === "block-delta" ? 1 : 0;
    if (text !== "") yield write(text, wordCount);
  }
}

/** Returns a body with the fields that its codec requires but its operation lacks. */
function completed(operation: SimulatedOperation, body: JsonObject) {
  if (operation === "count_tokens") return { max_tokens: 1, ...body };
  if (operation !== "compact") return body;
  const { input } = body;
  const items = Array.isArray(input)
    ? input
    : [{ role: "user", content: input }];
  return { ...body, input: [...items, { type: "compaction_trigger" }] };
}

/** Returns the user's messages, which an answer to a request for compaction keeps. */
function userMessages(
  { turns }: CanonicalRequest,
  ids: RenderContext["ids"],
): readonly object[] {
  return turns.filter(({ role }) => role === "user")
    .map(({ blocks }) => textsOf(blocks))
    .filter(({ length }) => length > 0)
    .map((texts) => ({
      id: ids.next("msg"),
      type: "message",
      role: "user",
      status: "completed",
      content: texts.map((text) => ({ type: "input_text", text })),
    }));
}
