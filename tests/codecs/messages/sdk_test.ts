import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/error.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { runStage } from "../../../src/base/stage.ts";
import type { Answer } from "../../../src/codecs/canonical/answer/answer.ts";
import type { Codec } from "../../../src/codecs/canonical/codec.ts";
import type { AnswerEvent } from "../../../src/codecs/canonical/stream/event.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../../src/codecs/canonical/answer/fold.ts";
import { chatCodec } from "../../../src/codecs/chat/mod.ts";
import { messagesCodec } from "../../../src/codecs/messages/mod.ts";
import { formatFrame, FrameWriter } from "../../../src/base/streams/sse.ts";
import { ANSWERS } from "../../contract/answers.ts";
import {
  answerContext,
  type ContractCase,
  decodeBytes,
  plain,
} from "../../contract/codec_contract.ts";
import { loadRecordings } from "../../support/recorded/recordings.ts";
import { CHAT_CASES } from "../chat/cases.ts";
import { MESSAGES_CASES } from "./cases.ts";
import { Anthropic, Anthropic0 } from "../../support/sdk/sdks.ts";
import { steps } from "../../support/steps.ts";

const REQUEST = {
  model: "claude-sonnet-4-6",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "hi" }],
};
const DECODED = messagesCodec.decodeRequest(REQUEST);

/** Returns a `fetch` that answers every request with `body`. */
function answering(body: string, init: ResponseInit = {}): typeof fetch {
  return () => Promise.resolve(new Response(body, init));
}

const SSE = { headers: { "content-type": "text/event-stream" } };

/** Each SDK's reading of a stream. */
const ACCUMULATORS = {
  "1.x": (text: string): Promise<unknown> =>
    new Anthropic({ apiKey: "k", fetch: answering(text, SSE), maxRetries: 0 })
      .messages.stream(REQUEST).finalMessage(),
  "0.x": (text: string): Promise<unknown> =>
    new Anthropic0({
      apiKey: "k",
      fetch: answering(text, SSE),
      maxRetries: 0,
    }).messages.stream(REQUEST).finalMessage(),
};

/** An upstream's stream, as the codec reads it. */
interface UpstreamStream {
  readonly name: string;
  readonly events: readonly AnswerEvent[];
}

/** Of arguments that the token limit cut off, the SDK keeps the readable part, and the JSON answer the text. */
const CUT_ARGUMENTS =
  "messages anthropic-claude-3-7-sonnet-incomplete-partial-json-response";

/** Every answer that the codec can write. */
const STREAMS: readonly UpstreamStream[] = [
  ...ANSWERS.map(({ name, answer }) => ({ name, events: eventsOf(answer) })),
  ...streamsOf(messagesCodec, [
    ...MESSAGES_CASES,
    ...loadRecordings("messages"),
  ]),
  ...streamsOf(chatCodec, [...CHAT_CASES, ...loadRecordings("chat")]),
].filter(({ name }) => name !== CUT_ARGUMENTS);

function streamsOf(
  codec: Codec,
  cases: readonly ContractCase[],
): UpstreamStream[] {
  return cases.flatMap(({ name, stream }) =>
    stream === undefined ? [] : [{
      name: `${codec.protocol} ${name}`,
      events: decodeBytes(codec, stream),
    }]
  );
}

for (const [version, accumulate] of Object.entries(ACCUMULATORS)) {
  Deno.test(`Anthropic SDK ${version} assembles the JSON answer from a stream`, (t) =>
    steps(t, STREAMS, async ({ events }) => {
      const message = await accumulate(streamOf(events));
      const answer = messagesCodec.encodeAnswer(
        foldAnswer(events),
        answerContext(DECODED),
      );
      assert.deepEqual(comparable(message), comparable(answer));
    }));
}

/** Returns the events in the codec's format. */
function streamOf(events: readonly AnswerEvent[]): string {
  const encoder = messagesCodec.createStreamEncoder(answerContext(DECODED));
  return runStage(encoder, events).map(formatFrame).join("");
}

/**
 * Returns the fields that both forms have. The SDK merges no other counts from the end of a stream.
 */
function comparable(message: unknown): unknown {
  const { id, model, role, content, stop_reason, stop_sequence, usage } =
    objectOf(plain(message));
  const counts = objectOf(usage);
  return {
    ...{ id, model, role, content, stop_reason, stop_sequence },
    input: counts.input_tokens,
    cached: counts.cache_read_input_tokens,
    written: counts.cache_creation_input_tokens,
    output: counts.output_tokens,
    thinking: counts.output_tokens_details,
  };
}

function objectOf(value: unknown): JsonObject {
  assert.ok(isJsonObject(value));
  return value;
}

/** Returns the events of a stream with a final failure. */
function failing(...events: AnswerEvent[]): string {
  const failure = { kind: "overloaded", message: "Busy" } as const;
  return streamOf([...events, { type: "failure", failure }]);
}

Deno.test("Anthropic SDKs throw the typed error of a stream that fails", async () => {
  const broken = failing(
    { type: "start", id: "a", model: "m" },
    { type: "block-start", index: 0, block: { kind: "text" } },
    { type: "block-delta", index: 0, text: "Hel" },
  );
  for (const text of [broken, failing()]) {
    for (const accumulate of Object.values(ACCUMULATORS)) {
      await assert.rejects(
        accumulate(text),
        (error: Error & { type?: unknown }) =>
          error.type === "overloaded_error" && /Busy/.test(error.message),
      );
    }
  }
});

Deno.test("Anthropic SDKs ignore keep-alives", async () => {
  const encoder = messagesCodec.createStreamEncoder(answerContext(DECODED));
  const frames = new FrameWriter();
  const { write } = frames;
  encoder.keepAlive(write);
  const answer: Answer = {
    id: "a",
    model: "m",
    blocks: [{ kind: "text", text: "Hi" }],
    stop: { reason: "end" },
  };
  for (const event of eventsOf(answer)) {
    encoder.push(event, write);
    encoder.keepAlive(write);
  }
  const text = frames.take();
  for (const accumulate of Object.values(ACCUMULATORS)) {
    const message = objectOf(plain(await accumulate(text)));
    assert.deepEqual(message.content, [{ type: "text", text: "Hi" }]);
  }
});

Deno.test("Anthropic SDK reports the error code for a thread, which the gateway does not keep", async () => {
  const error = errorOf(() =>
    messagesCodec.decodeRequest({ ...REQUEST, thread: { type: "create" } })
  );
  const body = {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: error.message,
      details: error.details,
    },
  };
  const client = new Anthropic({
    apiKey: "k",
    fetch: answering(JSON.stringify(body), { status: error.status }),
    maxRetries: 0,
  });
  await assert.rejects(
    client.messages.create(REQUEST),
    (thrown: { errorCode?: unknown }) =>
      thrown.errorCode === "thread_unsupported_request",
  );
});

Deno.test("Anthropic SDKs read an encoded failure by its status and type", async () => {
  const { status, body } = messagesCodec.encodeFailure(
    { kind: "rate_limited", status: 429, message: "Slow down" },
    "req_1",
  );
  const fetch = answering(JSON.stringify(body), { status });
  const options = { apiKey: "k", fetch, maxRetries: 0 };
  const calls = [
    new Anthropic(options).messages.create(REQUEST),
    new Anthropic0(options).messages.create(REQUEST),
  ];
  for (const call of calls) {
    await assert.rejects(
      call,
      (thrown: { status?: unknown; type?: unknown }) =>
        thrown.status === 429 && thrown.type === "rate_limit_error",
    );
  }
});

/** Returns the events of an answer. */
function eventsOf(answer: Answer): AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return events;
}

function errorOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
  assert.fail("nothing was thrown");
}
