import { type JsonObject, listOf } from "@gateway/base/json";
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
 * A codec that uses the program's own codecs: a simulated provider then reads requests and writes answers as the
 * gateway does for a caller. `tests/support/upstream/strict_provider` shares no code with the codecs, so that it can
 * check the codecs.
 */
export const programCodec: DemoCodec = {
  read(operation, body) {
    const codec = callerCodec({ operation });
    const request = codec.decodeRequest(completed(operation, body));
    return {
      request,
      render(script, context) {
        const { ids, nowMs, requestId, ask: { model } } = context;
        const events = eventsOf(script, context);
        const answerContext = {
          ...{ ids, nowMs, requestId, request, model },
          estimatedInputTokens: script.usage.inputTokens,
          connectionId: "demo",
          drop() {},
        };
        const whole = () =>
          codec.encodeAnswer(foldAnswer(events), answerContext);
        if (operation === "compact") {
          return { whole: () => compacted(whole(), request, ids) };
        }
        return {
          whole,
          steps({ isFailing }) {
            const half = events.slice(0, Math.ceil(events.length / 2));
            return encode(
              isFailing ? [...half, FAILURE] : events,
              codec.createStreamEncoder(answerContext),
            );
          },
        };
      },
    };
  },
  writeError: (error, { protocol, requestId }) =>
    CODECS[protocol].encodeError(error, requestId),
};

const FAILURE: AnswerEvent = { type: "failure", failure: OVERLOADED };

/** Returns the canonical events of an answer. */
function eventsOf(
  { blocks, stop, usage }: Script,
  context: RenderContext,
): readonly AnswerEvent[] {
  const { nowMs: createdAtMs, ask: { model } } = context;
  const counted = { ...usage, outputTokens: 1, reasoningTokens: 0 };
  return [
    { type: "start", id: "", model, createdAtMs, usage: counted },
    ...blocks.flatMap((block, index) => blockEvents(block, index, context)),
    { type: "end", stop, usage },
  ];
}

/** Returns the events of a block. Each piece of the block's text is one delta. */
function blockEvents(
  block: ScriptBlock,
  index: number,
  { ids, ask: { protocol } }: RenderContext,
): readonly AnswerEvent[] {
  const { kind, name = "", namespace, text, isHidden } = block;
  const isReasoning = kind === "reasoning";
  const form = isReasoning ? SEAL_FORMS[protocol] : undefined;
  return [
    {
      type: "block-start",
      index,
      block: kind === "text" || isReasoning
        ? { kind }
        : { kind, id: ids.next("call"), name, namespace },
    },
    ...isReasoning && !isHidden
      ? [{ type: "block-part", index, form: "summary" } as const]
      : [],
    ...(isHidden ? [] : piecesOf(block))
      .map((text) => ({ type: "block-delta", index, text } as const)),
    ...form === undefined ? [] : [
      {
        type: "block-seal",
        index,
        sealed: { protocol, form, value: shortDigest(text) },
      } as const,
    ],
    { type: "block-end", index },
  ];
}

/** The form of sealed reasoning, for each protocol that seals reasoning. */
const SEAL_FORMS: Readonly<Partial<Record<SimulatedProtocol, string>>> = {
  messages: "signature",
  responses: "encrypted_content",
};

/** Encodes events as a stream. Each delta is sent after the delay of one word. */
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

/**
 * Returns a request's body, completed with the fields that the codec requires but requests of this operation do not
 * have.
 */
function completed(operation: SimulatedOperation, body: JsonObject) {
  if (operation === "count_tokens") return { max_tokens: 1, ...body };
  if (operation !== "compact") return body;
  const { input } = body;
  const items = Array.isArray(input)
    ? input
    : [{ role: "user", content: input }];
  return { ...body, input: [...items, { type: "compaction_trigger" }] };
}

/** Returns the answer to a request for compaction. The answer keeps the user's messages. */
function compacted(
  { output, ...rest }: JsonObject,
  { turns }: CanonicalRequest,
  ids: RenderContext["ids"],
): object {
  const kept = turns.filter(({ role }) => role === "user")
    .map(({ blocks }) => textsOf(blocks))
    .filter(({ length }) => length > 0)
    .map((texts) => ({
      id: ids.next("msg"),
      type: "message",
      role: "user",
      status: "completed",
      content: texts.map((text) => ({ type: "input_text", text })),
    }));
  return {
    ...rest,
    object: "response.compaction",
    output: [...kept, ...listOf(output)],
  };
}
