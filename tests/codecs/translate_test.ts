import assert from "node:assert/strict";
import { GatewayError } from "../../src/base/error.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { chatCodec } from "../../src/codecs/chat/mod.ts";
import { translateRequest } from "../support/translate_request.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import {
  oversizedAnswer,
  UpstreamFailure,
} from "../../src/codecs/canonical/failure/failure.ts";
import { MAX_FRAME_CHARACTERS } from "../../src/codecs/canonical/max_sizes.ts";
import { restoreTools } from "../../src/codecs/canonical/tools/restore_tools.ts";
import { messagesCodec } from "../../src/codecs/messages/mod.ts";
import { responsesCodec } from "../../src/codecs/responses/mod.ts";
import {
  createBodyDecoder,
  createBodyFold,
  wholePart,
} from "../../src/codecs/decode_body.ts";
import { createTranslator } from "../../src/codecs/translate_stream.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import { requestOf } from "../support/wire/requests.ts";
import { sseBytes } from "../support/wire/sse_bytes.ts";

type RequestTranslation = Parameters<typeof translateRequest>[1];

const BODY: JsonObject = {
  model: "public",
  messages: [{ role: "user", content: "Hi" }],
};

function translate(body: JsonObject, rest: Partial<RequestTranslation> = {}) {
  return translateRequest({ ...BODY, ...body }, {
    from: chatCodec,
    to: chatCodec,
    target: {
      service: "custom",
      connectionId: "c",
      model: "upstream",
      maxOutputTokens: 100,
    },
    ...rest,
  });
}

Deno.test("translateRequest() returns the upstream's body and the caller's request", () => {
  const { body, request, dropped } = translate({ temperature: 1 });
  assert.deepEqual(body, {
    model: "upstream",
    messages: BODY.messages,
    temperature: 1,
  });
  assert.equal(request.model, "public");
  assert.equal(dropped.size, 0);
});

Deno.test("translateRequest() names dropped fields in the caller's spelling", () => {
  const { dropped } = translate({
    top_k: 3,
    verbosity: "low",
    max_completion_tokens: 5000,
  });
  assert.deepEqual([...dropped], [
    "max_completion_tokens",
    "top_k",
    "verbosity",
  ]);
});

Deno.test("translateRequest() names a dropped field with several spellings as the request spells it", () => {
  const { dropped } = translate({ max_tokens: 5000 });
  assert.deepEqual([...dropped], ["max_tokens"]);
  assert.throws(
    () => translate({ max_tokens: 5000 }, { strict: true }),
    (error) => error instanceof GatewayError && error.param === "max_tokens",
  );
});

Deno.test("translateRequest() recognizes omitted fields in all spellings", () => {
  const { dropped } = translate(
    { max_completion_tokens: 5 },
    { omit: ["max_tokens", "max_completion_tokens"] },
  );
  assert.deepEqual([...dropped], ["max_completion_tokens"]);
});

Deno.test("translateRequest() throws for a dropped field on a strict connection", () => {
  assert.throws(
    () => translate({ top_k: 3 }, { strict: true }),
    (error) => error instanceof GatewayError && error.param === "top_k",
  );
});

Deno.test("translateRequest() sets forced fields and names omitted ones", () => {
  const { body, dropped } = translate(
    { temperature: 1, seed: 2 },
    { force: { store: false, seed: 9 }, omit: ["temperature", "top_p"] },
  );
  assert.deepEqual(body, {
    model: "upstream",
    messages: BODY.messages,
    seed: 9,
    store: false,
  });
  assert.deepEqual([...dropped], ["temperature"]);
});

Deno.test("translateRequest() names a field that only the upstream has, in the upstream's spelling", () => {
  const { dropped } = translate({ stream: true }, { omit: ["stream_options"] });
  assert.deepEqual([...dropped], ["stream_options"]);
});

Deno.test("translateRequest() requests a stream from an upstream that only streams", () => {
  const { body, request } = translate({}, { streamOnly: true });
  assert.equal(body.stream, true);
  assert.equal(request.stream, false);
});

Deno.test("translateRequest() replaces tools that the target does not support", () => {
  const tools = [{ type: "custom", custom: { name: "patch" } }];
  const { body, aliases } = translate({ tools });
  assert.match(
    JSON.stringify(body.tools),
    /"type":"function","function":\{"name":"patch"/,
  );
  assert.deepEqual(aliases.get("patch"), { kind: "custom", name: "patch" });
});

Deno.test("translateRequest() lets the relay edit the canonical request", () => {
  const { body } = translate({}, {
    prepare: (request) => ({
      ...request,
      turns: [...request.turns, ...request.turns],
    }),
  });
  assert.deepEqual(body.messages, [{ role: "user", content: "Hi\n\nHi" }]);
});

Deno.test("translateRequest() throws `invalid_request` for a request that is nested too deeply, and forwards bugs", () => {
  let schema: JsonObject = {};
  for (let depth = 0; depth < 200_000; depth++) schema = { items: schema };
  const response_format = {
    type: "json_schema",
    json_schema: { name: "x", schema },
  };
  assert.throws(
    () => translate({ response_format }),
    (error) =>
      error instanceof GatewayError && /nested too deep/.test(error.message),
  );
  const prepare = () => {
    throw new TypeError("bug");
  };
  assert.throws(() => translate({}, { prepare }), TypeError);
});

type TranslatorOptions = Parameters<typeof createTranslator>[0];

const IDENTITY = { id: "chatcmpl-1", created: 1, model: "m" };
const HELLO = sseBytes({
  ...IDENTITY,
  choices: [{ index: 0, delta: { content: "Grüße 👋" } }],
});
const CALL = sseBytes({
  ...IDENTITY,
  choices: [{
    index: 0,
    delta: {
      tool_calls: [{
        index: 0,
        id: "c1",
        function: { name: "a__b", arguments: "{}" },
      }],
    },
  }],
});
const END = sseBytes({
  ...IDENTITY,
  choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
}, "[DONE]");

function options(rest: Partial<TranslatorOptions> = {}): TranslatorOptions {
  return {
    decoder: createBodyDecoder(chatCodec, counterIds()),
    encoder: chatCodec.createStreamEncoder(answerContext(requestOf())),
    ...rest,
  };
}

Deno.test("a translator returns text for each chunk that completes an event", () => {
  const translator = createTranslator(options());
  const half = HELLO.length - 12;
  assert.equal(translator.push(HELLO.subarray(0, half)), "");
  const text = translator.push(HELLO.subarray(half));
  assert.match(text, /^data: .*"role":"assistant"/);
  assert.match(text, /"content":"Grüße 👋"/);
  assert.equal(translator.isOver(), false);
  assert.match(
    translator.push(END),
    /"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/,
  );
  assert.equal(translator.isOver(), true);
});

Deno.test("a translator returns nothing after the answer is over", () => {
  const translator = createTranslator(options());
  translator.push(HELLO);
  translator.push(END);
  assert.equal(translator.push(HELLO), "");
  assert.equal(translator.keepAlive(), "");
  assert.equal(translator.fail({ kind: "timeout", message: "late" }), "");
  assert.equal(translator.end(), "");
});

Deno.test("a translator writes an error to the caller for an early end, an injected failure and a long event", () => {
  const early = createTranslator(options());
  early.push(HELLO);
  assert.match(
    early.end(),
    /^event: error\ndata: \{"error":\{"message":"The provider's stream ended/,
  );

  const late = createTranslator(options());
  late.push(HELLO);
  assert.match(
    late.fail({ kind: "timeout", message: "Too slow" }),
    /"message":"Too slow","type":"timeout_error"/,
  );
  assert.equal(late.isOver(), true);

  const long = createTranslator(options());
  const bytes = new Uint8Array(MAX_FRAME_CHARACTERS / 2).fill(120);
  assert.equal(long.push(new TextEncoder().encode("data: ")), "");
  assert.equal(long.push(bytes), "");
  assert.match(
    long.push(bytes),
    /^event: error\n.*too long.*"code":"upstream_oversized"/,
  );
});

Deno.test("a translator fails when the stream ends within an event, but not after a complete last event", () => {
  for (const codec of [chatCodec, messagesCodec, responsesCodec]) {
    for (const cut of ['data: {"id":"chatcmpl-1","cho', "data: {", "data: ["]) {
      const translator = createTranslator(options({
        decoder: createBodyDecoder(codec, counterIds()),
      }));
      translator.push(new TextEncoder().encode(cut));
      assert.match(
        translator.end(),
        /"The provider's stream ended before the answer did\. Try again later\."/,
        `${codec.protocol}: ${cut}`,
      );
    }
  }
  const whole = createTranslator(options());
  whole.push(HELLO);
  whole.push(END.subarray(0, END.length - 2));
  assert.match(whole.end(), /data: \[DONE\]\n\n$/);
});

Deno.test("a translator ends the answer with a failure when the answer is too large for the encoder", () => {
  const written: AnswerEvent[] = [];
  const seen: AnswerEvent[] = [];
  const failure = oversizedAnswer("Too much");
  const translator = createTranslator(options({
    encoder: {
      push(event, emit) {
        if (event.type === "block-delta") throw new UpstreamFailure(failure);
        written.push(event);
        if (event.type === "failure") emit({ data: event.failure.message });
      },
      end: (emit) => emit({ data: "over" }),
      keepAlive() {},
    },
    observe: (event) => seen.push(event),
  }));
  assert.equal(
    translator.push(HELLO),
    "data: Too much. Ask for a shorter answer.\n\ndata: over\n\n",
  );
  assert.equal(translator.isOver(), true);
  assert.equal(translator.push(END), "");
  assert.equal(translator.end(), "");
  assert.deepEqual(written.at(-1), { type: "failure", failure });
  assert.deepEqual(seen.at(-1), { type: "failure", failure });
});

Deno.test("a translator forwards bugs of its encoder", () => {
  const fault = new TypeError("a fault");
  const translator = createTranslator(options({
    encoder: {
      push() {
        throw fault;
      },
      end() {},
      keepAlive() {},
    },
  }));
  assert.throws(() => translator.push(HELLO), (error) => error === fault);
});

Deno.test("a translator writes keep-alives", () => {
  assert.equal(createTranslator(options()).keepAlive(), ": keep-alive\n\n");
});

Deno.test("a translator passes each event to the observer once, after the edits", () => {
  const seen: AnswerEvent[] = [];
  const aliases = new Map(
    [["a__b", { kind: "function", name: "b", namespace: "a" }]] as const,
  );
  const translator = createTranslator(options({
    between: restoreTools(aliases),
    observe: (event) => {
      seen.push(event);
    },
  }));
  const text = translator.push(CALL) + translator.push(END);
  assert.deepEqual(seen.map(({ type }) => type), [
    "start",
    "block-start",
    "block-delta",
    "block-end",
    "end",
  ]);
  assert.match(text, /"name":"b"/);
});

const DECODE_BODY_HELLO = sseBytes({
  id: "c-1",
  choices: [{ index: 0, delta: { content: "Hello" } }],
});
const DECODE_BODY_END = sseBytes({
  choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
});

function createFold() {
  return createBodyFold(createBodyDecoder(chatCodec, counterIds()));
}

Deno.test("a body fold joins a stream to one answer, however the stream is split", () => {
  const fold = createFold();
  for (const byte of [...DECODE_BODY_HELLO, ...DECODE_BODY_END]) {
    fold.push(Uint8Array.of(byte));
  }
  assert.deepEqual(
    fold.end().blocks.map((block) => block.kind === "text" ? block.text : ""),
    ["Hello"],
  );
});

Deno.test("a body fold throws the failure of a stream that ends early or reports an error", () => {
  const early = createFold();
  early.push(DECODE_BODY_HELLO);
  assert.throws(() => early.end(), UpstreamFailure);
  const cut = createFold();
  cut.push(DECODE_BODY_HELLO);
  cut.push(new TextEncoder().encode('data: {"id":"c-1","choi'));
  assert.throws(() => cut.end(), /ended before/);
  const failed = createFold();
  assert.throws(
    () => failed.push(sseBytes({ error: { message: "Broke" } })),
    (error) =>
      error instanceof UpstreamFailure && error.failure.message === "Broke",
  );
});

Deno.test("a body fold throws for an event that is too long", () => {
  const fold = createFold();
  fold.push(new TextEncoder().encode("data: "));
  fold.push(new Uint8Array(MAX_FRAME_CHARACTERS - "data: ".length).fill(120));
  assert.throws(
    () => fold.push(Uint8Array.of(120)),
    (error) =>
      error instanceof UpstreamFailure && error.failure.kind === "oversized",
  );
});

const ANSWER = JSON.stringify({
  id: "c-1",
  choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }],
});

Deno.test("a body fold reads one JSON object in place of a stream", () => {
  for (const text of [ANSWER, `\r\n ${ANSWER}\n`, `\ufeff${ANSWER}`]) {
    const fold = createFold();
    for (const byte of new TextEncoder().encode(text)) {
      fold.push(Uint8Array.of(byte));
    }
    const [block] = fold.end().blocks;
    assert.equal(block?.kind === "text" && block.text, "Hello", text);
  }
});

Deno.test("a body fold reads JSON after a byte order mark, in any chunks", () => {
  const bytes = new TextEncoder().encode(`\ufeff${ANSWER}`);
  for (let size = 1; size <= 5; size++) {
    const fold = createFold();
    fold.push(bytes.slice(0, size));
    fold.push(bytes.slice(size));
    assert.equal(fold.end().blocks.length, 1, `${size}`);
  }
});

Deno.test("a body fold throws a failure for JSON that is cut off, too long, an error or no answer", () => {
  const cases: readonly (readonly [text: string, message: RegExp])[] = [
    [ANSWER.slice(0, -1), /is incomplete\./],
    ['{"error":{"message":"Broke"}}', /^Broke$/],
    ['{"choices":[]}', /not an answer/],
    ['{"a":', /is incomplete\./],
  ];
  for (const [text, message] of cases) {
    const fold = createFold();
    fold.push(new TextEncoder().encode(text));
    assert.throws(
      () => fold.end(),
      (error) =>
        error instanceof UpstreamFailure && message.test(error.message),
      text,
    );
  }
  const long = createFold();
  long.push(new TextEncoder().encode('{"a":"'));
  assert.throws(
    () => long.push(new Uint8Array(MAX_FRAME_CHARACTERS).fill(120)),
    (error) =>
      error instanceof UpstreamFailure && error.failure.kind === "oversized",
  );
});

Deno.test("wholePart() returns a complete last frame unchanged, even one of several lines", () => {
  const whole = [
    '{"a":1}',
    "[DONE]",
    "[DONE] ",
    "[]",
    '{"a":1}\n{"a":2}\n[DONE]',
    '{"a":\n1}',
  ];
  for (const data of whole) assert.deepEqual(wholePart({ data }), { data });
});

Deno.test("wholePart() returns undefined for a last frame that was cut off", () => {
  const cut = ['{"a":1', '{"a":"[DONE', "[DON", "{", "", '{"a":\n[1,'];
  for (const data of cut) assert.equal(wholePart({ data }), undefined, data);
});

Deno.test("wholePart() returns the complete lines before a line that was cut off", () => {
  assert.deepEqual(
    wholePart({ event: "x", data: '{"a":1}\n{"a":2}\n{"a":' }),
    { event: "x", data: '{"a":1}\n{"a":2}' },
  );
});
