import assert from "node:assert/strict";
import { wordList } from "../../src/base/collections.ts";
import { GatewayError } from "../../src/base/error.ts";
import type { SseFrame } from "../../src/base/frame.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import { completionsCodec } from "../../src/codecs/completions/mod.ts";
import {
  createBodyDecoder,
  createBodyFold,
} from "../../src/codecs/decode_body.ts";
import { settleCalls } from "../../src/codecs/canonical/tools/settle_calls.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { createTranslator } from "../../src/codecs/translate_stream.ts";
import { formatFrame } from "../../src/base/streams/sse.ts";
import { ANSWERS } from "../contract/answers.ts";
import {
  answerContext,
  type ContractCase,
  counterIds,
  decodeBytes,
  encodeStream,
} from "../contract/codec_contract.ts";
import { createGrammar } from "../contract/grammar.ts";
import { damageBytes, damageJson } from "../support/wire/damage.ts";
import { STREAMED } from "../support/dialects/pairs.ts";
import { createRandom, type Random } from "../support/fakes/random.ts";
import { loadRecordings, parseFrames } from "../support/recorded/recordings.ts";
import { CHAT_CASES } from "./chat/cases.ts";
import { MESSAGES_CASES } from "./messages/cases.ts";
import { RESPONSES_CASES } from "./responses/cases.ts";
import { translateRequest } from "../support/translate_request.ts";
import { targetOf } from "../support/dialects/targets.ts";

// Damaged and invented input through every codec and every pair. It may cause only typed failures. Each stream must
// end, and must not produce more than its input contains.

const PROTOCOLS: readonly Protocol[] = ["chat", "messages", "responses"];

const CASES: Readonly<Record<Protocol, readonly ContractCase[]>> = {
  chat: CHAT_CASES,
  messages: MESSAGES_CASES,
  responses: RESPONSES_CASES,
};

/** The number of streams for each pair of protocols. */
const STREAM_ROUNDS = 400;

/** The number of requests for each pair of protocols. */
const REQUEST_ROUNDS = 300;

/** The longest recorded stream that is fuzzed, in bytes. */
const MAX_SAMPLE_BYTES = 20_000;

for (const from of PROTOCOLS) {
  const samples = streamSamples(from);
  for (const to of PROTOCOLS) {
    Deno.test(`damaged ${from} streams reach a ${to} caller with one ending, and a broken stream never ends as complete`, () => {
      const random = createRandom(from.length * 100 + to.length);
      for (let round = 0; round < STREAM_ROUNDS; round++) {
        const bytes = round % 4 === 3
          ? inventStream(from, random)
          : damageStream(random.pick(samples), random);
        explained(
          { from, to, round, bytes },
          () => checkStream(bytes, { from, to, random }),
        );
      }
    });
  }
  Deno.test(`damaged ${from} streams fold into an answer or a typed failure`, () => {
    const random = createRandom(from.length);
    for (let round = 0; round < STREAM_ROUNDS; round++) {
      const bytes = damageStream(random.pick(samples), random);
      explained({ from, round, bytes }, () => checkFold(bytes, from));
    }
  });
  for (const to of PROTOCOLS) {
    Deno.test(`damaged ${from} requests to a ${to} upstream are translated or refused`, () => {
      const requests = requestSamples(from);
      const random = createRandom(from.length * 10 + to.length);
      let translated = 0;
      for (let round = 0; round < REQUEST_ROUNDS; round++) {
        const sample = random.pick(requests);
        const damaged = damageJson(sample, random, random.pick([12, 50, 400]));
        if (!isJsonObject(damaged)) continue;
        explained({ from, to, round, damaged }, () => {
          if (checkRequest(damaged, from, to)) translated++;
        });
      }
      assert.ok(translated > 0, "nothing was translated, so nothing was shown");
    });
  }
}

Deno.test("damaged legacy completions are translated or refused", () => {
  const random = createRandom(5);
  const body: JsonObject = {
    model: "m",
    prompt: ["Hi"],
    max_tokens: 5,
    stop: ["a"],
    stream: true,
    stream_options: { include_usage: true },
    logit_bias: { "1": 2 },
    seed: 3,
  };
  for (let round = 0; round < REQUEST_ROUNDS; round++) {
    const damaged = damageJson(body, random);
    if (!isJsonObject(damaged)) continue;
    explained({ round, damaged }, () =>
      refusedOr(() => {
        translate(damaged, completionsCodec, "chat");
      }));
  }
});

/** Runs `run`, and adds the input to its error. */
function explained(what: unknown, run: () => void): void {
  try {
    run();
  } catch (error) {
    const shown = JSON.stringify(
      what,
      (_, value) =>
        value instanceof Uint8Array ? new TextDecoder().decode(value) : value,
    );
    throw new Error(`At ${shown}`, { cause: error });
  }
}

function checkStream(
  bytes: Uint8Array,
  { from, to, random }: {
    readonly from: Protocol;
    readonly to: Protocol;
    readonly random: Random;
  },
): void {
  const grammar = createGrammar();
  const endings: AnswerEvent["type"][] = [];
  const translator = createTranslator({
    decoder: createBodyDecoder(CODECS[from], counterIds()),
    between: settleCalls(),
    encoder: CODECS[to].createStreamEncoder(
      answerContext(CODECS[to].decodeRequest(STREAMED[to])),
    ),
    observe(event) {
      grammar.push(event, () => {});
      if (event.type === "end" || event.type === "failure") {
        endings.push(event.type);
      }
    },
  });
  let text = "";
  for (const piece of pieces(bytes, random)) {
    text += translator.push(piece);
    if (random.below(50) === 0) text += translator.keepAlive();
  }
  text += translator.end();
  assert.equal(endings.length, 1, "endings");
  assert.ok(translator.isOver());
  assert.equal(
    translator.push(bytes) + translator.end() + translator.keepAlive(),
    "",
    "it speaks after its end",
  );
  assert.ok(
    text.length < 50_000 + 400 * bytes.length,
    `${bytes.length} bytes became ${text.length} characters`,
  );
  const received = decodeBytes(CODECS[to], new TextEncoder().encode(text)).at(
    -1,
  );
  assert.equal(received?.type, endings[0], `the caller reads in ${text}`);
}

function checkFold(bytes: Uint8Array, from: Protocol): void {
  const fold = createBodyFold(createBodyDecoder(CODECS[from], counterIds()));
  try {
    fold.push(bytes);
    const answer = fold.end();
    assert.ok(Array.isArray(answer.blocks));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
  }
}

/** @returns True when it was translated. */
function checkRequest(
  damaged: JsonObject,
  from: Protocol,
  to: Protocol,
): boolean {
  return refusedOr(() => {
    const body = translate(damaged, CODECS[from], to);
    // The output must be a request that the upstream can read.
    CODECS[to].decodeRequest(JSON.parse(JSON.stringify(body)));
  });
}

/** @returns True when `run` succeeded. Throws every error except the typed refusal. */
function refusedOr(run: () => void): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    assert.equal(error.kind, "invalid_request");
    return false;
  }
}

function translate(
  body: JsonObject,
  from: Parameters<typeof translateRequest>[1]["from"],
  to: Protocol,
): JsonObject {
  return translateRequest(body, {
    from,
    to: CODECS[to],
    target: targetOf("custom", "claude-sonnet-4-6"),
  }).body;
}

/** Complete streams of a protocol: samples, the cases of its tests, and recordings. */
function streamSamples(protocol: Protocol): Uint8Array[] {
  const codec = CODECS[protocol];
  const request = codec.decodeRequest(STREAMED[protocol]);
  const encoder = new TextEncoder();
  const samples = ANSWERS.map(({ answer }) =>
    encoder.encode(
      encodeStream(codec, answer, request).map(formatFrame).join(""),
    )
  );
  const known = [...CASES[protocol], ...loadRecordings(protocol)].flatMap((
    { stream },
  ) =>
    stream === undefined || stream.length > MAX_SAMPLE_BYTES ? [] : [stream]
  );
  return [...samples, ...known];
}

function requestSamples(protocol: Protocol): JsonObject[] {
  return [...CASES[protocol], ...loadRecordings(protocol)].flatMap((
    { request },
  ) =>
    request === undefined || JSON.stringify(request).length > MAX_SAMPLE_BYTES
      ? []
      : [request]
  );
}

/** Returns a stream with wrong bytes, wrong frames, or wrong values in frames. */
function damageStream(stream: Uint8Array, random: Random): Uint8Array {
  if (random.below(3) === 0) return damageBytes(stream, random);
  const frames = parseFrames(stream);
  const faults = 1 + random.below(3);
  for (let fault = 0; fault < faults && frames.length > 0; fault++) {
    const at = random.below(frames.length);
    const frame = frames[at] ?? { data: "" };
    switch (random.below(5)) {
      case 0:
        frames.splice(at, 1);
        break;
      case 1:
        frames.splice(random.below(frames.length + 1), 0, frame);
        break;
      case 2:
        frames.splice(at, 1);
        frames.splice(random.below(frames.length + 1), 0, frame);
        break;
      case 3:
        frames.length = at;
        break;
      default: {
        const data = damageJson(parseJson(frame.data) ?? frame.data, random);
        frames[at] = { ...frame, data: JSON.stringify(data) };
      }
    }
  }
  return new TextEncoder().encode(frames.map(formatLines).join(""));
}

function formatLines({ event, data }: SseFrame): string {
  return formatFrame({ event, data: data.replaceAll("\n", "\ndata: ") });
}

/** Returns frames in a random order, built from a protocol's own names. */
function inventStream(protocol: Protocol, random: Random): Uint8Array {
  const count = 1 + random.below(12);
  const frames = Array.from({ length: count }, () => {
    const type = random.pick(EVENT_TYPES[protocol]);
    const data = damageJson({ ...FIELDS, type }, random, 5);
    return formatFrame({ event: type, data: JSON.stringify(data) });
  });
  return new TextEncoder().encode(frames.join(""));
}

const EVENT_TYPES: Readonly<Record<Protocol, readonly string[]>> = {
  chat: ["", "error", "chat.completion.chunk"],
  messages: wordList(`
    message_start content_block_start content_block_delta content_block_stop
    message_delta message_stop ping error
  `),
  responses: wordList(`
    response.created response.output_item.added response.content_part.added
    response.output_text.delta response.function_call_arguments.delta
    response.reasoning_summary_text.delta response.output_item.done
    response.completed response.failed error
  `),
};

/** Every field of the three protocols' events that a decoder reads. */
const FIELDS: JsonObject = {
  index: 0,
  output_index: 0,
  content_index: 0,
  item_id: "item_1",
  choices: [{
    index: 0,
    finish_reason: "stop",
    delta: {
      content: "a",
      reasoning_content: "b",
      tool_calls: [{
        index: 0,
        id: "call_1",
        type: "function",
        function: { name: "f", arguments: "{}" },
      }],
    },
  }],
  usage: { prompt_tokens: 1, input_tokens: 1, output_tokens: 2 },
  message: { id: "msg_1", model: "m", usage: { input_tokens: 1 } },
  content_block: { type: "tool_use", id: "call_1", name: "f", input: {} },
  delta: { type: "text_delta", text: "a", stop_reason: "end_turn" },
  item: {
    type: "function_call",
    id: "item_1",
    call_id: "call_1",
    name: "f",
    arguments: "{}",
  },
  part: { type: "output_text", text: "a" },
  response: { id: "resp_1", status: "completed", output: [] },
};

function* pieces(bytes: Uint8Array, random: Random): Generator<Uint8Array> {
  const most = random.pick([3, 40, 1000, bytes.length + 1]);
  for (let from = 0; from < bytes.length;) {
    const to = from + 1 + random.below(most);
    yield bytes.subarray(from, to);
    from = to;
  }
}
