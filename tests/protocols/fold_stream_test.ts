import assert from "node:assert/strict";
import { UpstreamFailure } from "../../src/protocols/canonical/failure/failure.ts";
import { MAX_FRAME_CHARACTERS } from "../../src/protocols/canonical/limits.ts";
import { chatCodec } from "../../src/protocols/chat/mod.ts";
import { createStreamFold } from "../../src/protocols/fold_stream.ts";
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
  return createStreamFold(chatCodec.createStreamDecoder(counterIds()));
}

Deno.test("a stream fold makes one answer of a stream in pieces", () => {
  const fold = createFold();
  for (const byte of [...HELLO, ...END]) fold.push(Uint8Array.of(byte));
  assert.deepEqual(
    fold.end().blocks.map((block) => block.kind === "text" ? block.text : ""),
    ["Hello"],
  );
});

Deno.test("a stream fold throws the failure of a stream that ends early or reports an error", () => {
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

Deno.test("a stream fold throws when one event is too long", () => {
  const fold = createFold();
  fold.push(new TextEncoder().encode("data: "));
  fold.push(new Uint8Array(MAX_FRAME_CHARACTERS - "data: ".length).fill(120));
  assert.throws(
    () => fold.push(Uint8Array.of(120)),
    (error) =>
      error instanceof UpstreamFailure && error.failure.kind === "oversized",
  );
});
