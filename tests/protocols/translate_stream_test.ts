import assert from "node:assert/strict";
import type { AnswerEvent } from "../../src/protocols/canonical/stream/event.ts";
import {
  oversizedAnswer,
  UpstreamFailure,
} from "../../src/protocols/canonical/failure/failure.ts";
import { MAX_FRAME_CHARACTERS } from "../../src/protocols/canonical/max_sizes.ts";
import { restoreTools } from "../../src/protocols/canonical/tools/restore_tools.ts";
import { chatCodec } from "../../src/protocols/chat/mod.ts";
import { messagesCodec } from "../../src/protocols/messages/mod.ts";
import { responsesCodec } from "../../src/protocols/responses/mod.ts";
import { createBodyDecoder } from "../../src/protocols/decode_body.ts";
import { createTranslator } from "../../src/protocols/translate_stream.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import { requestOf } from "../support/wire/requests.ts";
import { sseBytes } from "../support/wire/sse_bytes.ts";

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

Deno.test("a translator gives text for each piece of bytes that completes an event", () => {
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

Deno.test("a translator gives nothing after the answer is over", () => {
  const translator = createTranslator(options());
  translator.push(HELLO);
  translator.push(END);
  assert.equal(translator.push(HELLO), "");
  assert.equal(translator.keepAlive(), "");
  assert.equal(translator.fail({ kind: "timeout", message: "late" }), "");
  assert.equal(translator.end(), "");
});

Deno.test("a translator makes an early end, a failure from outside and a long event the caller's error", () => {
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

Deno.test("a translator treats an end in the middle of an event as early, in every protocol, and one after a whole event as the answer's", () => {
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

Deno.test("a translator whose encoder cannot hold the answer ends it with that failure, for the caller and the observer", () => {
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

Deno.test("a translator forwards unforeseen errors of its encoder", () => {
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

Deno.test("a translator keeps a silent stream alive", () => {
  assert.equal(createTranslator(options()).keepAlive(), ": keep-alive\n\n");
});

Deno.test("a translator shows every event once to an observer, after the stage between", () => {
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
