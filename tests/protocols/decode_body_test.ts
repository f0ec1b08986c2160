import assert from "node:assert/strict";
import { UpstreamFailure } from "../../src/protocols/canonical/failure/failure.ts";
import { MAX_FRAME_CHARACTERS } from "../../src/protocols/canonical/max_sizes.ts";
import { chatCodec } from "../../src/protocols/chat/mod.ts";
import {
  createBodyDecoder,
  createBodyFold,
  wholePart,
} from "../../src/protocols/decode_body.ts";
import { counterIds } from "../contract/codec_contract.ts";
import { sseBytes } from "../support/wire/sse_bytes.ts";

const HELLO = sseBytes({
  id: "c-1",
  choices: [{ index: 0, delta: { content: "Hello" } }],
});
const END = sseBytes({
  choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
});

function createFold() {
  return createBodyFold(createBodyDecoder(chatCodec, counterIds()));
}

Deno.test("a body fold makes one answer of a stream in pieces", () => {
  const fold = createFold();
  for (const byte of [...HELLO, ...END]) fold.push(Uint8Array.of(byte));
  assert.deepEqual(
    fold.end().blocks.map((block) => block.kind === "text" ? block.text : ""),
    ["Hello"],
  );
});

Deno.test("a body fold throws the failure of a stream that ends early or reports an error", () => {
  const early = createFold();
  early.push(HELLO);
  assert.throws(() => early.end(), UpstreamFailure);
  const cut = createFold();
  cut.push(HELLO);
  cut.push(new TextEncoder().encode('data: {"id":"c-1","choi'));
  assert.throws(() => cut.end(), /ended before/);
  const failed = createFold();
  assert.throws(
    () => failed.push(sseBytes({ error: { message: "Broke" } })),
    (error) =>
      error instanceof UpstreamFailure && error.failure.message === "Broke",
  );
});

Deno.test("a body fold throws when one event is too long", () => {
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

Deno.test("a body fold throws the failure of JSON that is cut, too long, an error or no answer", () => {
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

Deno.test("wholePart() leaves a last frame that came whole, be it of several lines", () => {
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

Deno.test("wholePart() takes nothing of a last frame that was cut", () => {
  const cut = ['{"a":1', '{"a":"[DONE', "[DON", "{", "", '{"a":\n[1,'];
  for (const data of cut) assert.equal(wholePart({ data }), undefined, data);
});

Deno.test("wholePart() takes the events before one that was cut, where no blank line parted them", () => {
  assert.deepEqual(
    wholePart({ event: "x", data: '{"a":1}\n{"a":2}\n{"a":' }),
    { event: "x", data: '{"a":1}\n{"a":2}' },
  );
});
