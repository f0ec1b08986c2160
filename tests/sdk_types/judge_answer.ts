import type { SseFrame } from "../../src/base/frame.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { runStage } from "../../src/base/stage.ts";
import type { AnswerContext } from "../../src/codecs/canonical/codec.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { userRequest } from "../support/dialects/upstream_request.ts";
import type { Probe, TypedField } from "./read_types.ts";
import {
  isNamed,
  type Seen,
  type Verdict,
  type Verdicts,
  verdictsOf,
} from "./verdict.ts";
import { streamAround } from "./stream_around.ts";

/**
 * Returns the verdict on a field of an answer or event for each translated route: whether the field changes the answer
 * or its counts, is named in the log, or has no effect.
 */
export function judgeAnswer(field: TypedField): Verdicts {
  const { protocol: from, side } = field.entry;
  const see = side === "answer" ? seeAnswer : seeStream;
  return verdictsOf(field, (probe, to) => judge(probe, { from, to, see }));
}

interface Route {
  readonly from: Protocol;
  readonly to: Protocol;
  see(body: JsonObject, from: Protocol, to: Protocol): Seen;
}

function judge(
  { having, without, bare }: Probe,
  { from, to, see }: Route,
): Verdict {
  const reason = stopReasonOf(having);
  const one = see(stopping(having, reason), from, to);
  const other = see(stopping(without, reason), from, to);
  if (one.text !== other.text) return "handled";
  return isNamed(one, other, () => see(stopping(bare, reason), from, to))
    ? "named"
    : "ignored";
}

/** Returns the stop reason that fits these fields of Messages. */
function stopReasonOf(body: JsonObject): string {
  const holder = isJsonObject(body.delta) ? body.delta : body;
  if (isJsonObject(holder.stop_details)) return "refusal";
  return typeof holder.stop_sequence === "string"
    ? "stop_sequence"
    : "end_turn";
}

function stopping(body: JsonObject, reason: string): JsonObject {
  if (body.type === "message_delta" && isJsonObject(body.delta)) {
    return { ...body, delta: stopping(body.delta, reason) };
  }
  return body.stop_reason === null ? { ...body, stop_reason: reason } : body;
}

/** Translates an answer. A failure counts as the error that its caller reads. */
function seeAnswer(body: JsonObject, from: Protocol, to: Protocol): Seen {
  const dropped: string[] = [];
  try {
    const whole = complete(body, from);
    const answer = CODECS[from].decodeAnswer(whole, countedIds());
    const written = CODECS[to].encodeAnswer(answer, context(to, dropped));
    const { usage, serviceTier, reasoningDropped } = answer;
    const seen = [written, usage, serviceTier, reasoningDropped];
    return { text: JSON.stringify(seen), dropped };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    const written = CODECS[to].encodeFailure(error.failure, "req_1");
    return { text: JSON.stringify(written), dropped };
  }
}

function seeStream(body: JsonObject, from: Protocol, to: Protocol): Seen {
  const dropped: string[] = [];
  const frames = streamAround(body, from).map((event) => frameOf(event, from));
  const decoder = CODECS[from].createStreamDecoder(countedIds());
  const events = runStage(decoder, frames);
  const encoder = CODECS[to].createStreamEncoder(context(to, dropped));
  const written = runStage(encoder, [...events]);
  return { text: JSON.stringify([written, events.map(counted)]), dropped };
}

/** Returns the parts of an event that the usage and the log read. */
function counted(event: AnswerEvent): string {
  const { usage, serviceTier, reasoningDropped } = {
    usage: undefined,
    serviceTier: undefined,
    reasoningDropped: undefined,
    ...event,
  };
  return JSON.stringify([usage, serviceTier, reasoningDropped]);
}

/** Returns the frame of an event. Those of Chat Completions have no names. */
function frameOf(event: JsonObject | string, from: Protocol): SseFrame {
  if (typeof event === "string") return { data: event };
  const { type } = event;
  const data = JSON.stringify(event);
  return from === "chat" || typeof type !== "string"
    ? { data }
    : { data, event: type };
}

/** Adds the required fields to an answer. */
function complete(body: JsonObject, from: Protocol): JsonObject {
  const model = "a model";
  switch (from) {
    case "chat":
      return {
        object: "chat.completion",
        choices: [{
          index: 0,
          finish_reason: "stop",
          message: { role: "assistant", content: "Hi" },
        }],
        ...body,
        model,
      };
    case "messages":
      return {
        type: "message",
        role: "assistant",
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
        stop_reason: "end_turn",
        ...body,
        model,
      };
    case "responses": {
      const least = { status: "completed", output: [] };
      return { ...least, ...body, object: "response", model };
    }
  }
}

function countedIds() {
  let count = 0;
  return { next: (prefix: string) => `${prefix}_${++count}` };
}

/** The fields of a request for all optional parts of an answer. */
const WISHES: Readonly<Record<Protocol, JsonObject>> = {
  chat: { logprobs: true, top_logprobs: 2 },
  messages: {},
  responses: { include: ["message.output_text.logprobs"], top_logprobs: 2 },
};

function context(to: Protocol, dropped: string[]): AnswerContext {
  return {
    ids: countedIds(),
    nowMs: 0,
    model: "a model",
    request: CODECS[to].decodeRequest({
      model: "asked",
      ...userRequest(to, WISHES[to]),
    }),
    estimatedInputTokens: 1,
    requestId: "req_1",
    connectionId: "connection-1",
    drop: (part) => dropped.push(part),
  };
}
