import assert from "node:assert/strict";
import {
  type ByteSource,
  createByteReader,
  discard,
  readAll,
} from "../../../src/base/streams/byte_reader.ts";
import { nextTurn, settle } from "../../support/settle.ts";

function bytes(length: number, value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(value);
}

Deno.test("createByteReader() returns the chunks unchanged, in order", async () => {
  const reader = createByteReader(ReadableStream.from([bytes(3, 1)]));
  assert.deepEqual(await reader.read(), { done: false, value: bytes(3, 1) });
  assert.equal((await reader.read()).done, true);
});

Deno.test("createByteReader() forwards errors of its source, and cancels it with the same reason", async (t) => {
  await t.step("broke", async () => {
    const body = new ReadableStream({
      type: "bytes",
      pull: () => Promise.reject(new Error("broke")),
    });
    await assert.rejects(createByteReader(body).read(), /broke/);
  });
  await t.step("cancelled", async () => {
    const reason = Promise.withResolvers<unknown>();
    const body = new ReadableStream({ type: "bytes", cancel: reason.resolve });
    await createByteReader(body).cancel("enough");
    assert.equal(await reason.promise, "enough");
  });
});

Deno.test("createByteReader() rejects a locked body", () => {
  const body = new ReadableStream();
  body.getReader();
  assert.throws(() => createByteReader(body), TypeError);
});

const KIB = 1024;

/** Bodies that have arrived already, one of each kind of source. */
const READY = {
  "a stream": (chunks: readonly Uint8Array[]): ByteSource =>
    ReadableStream.from(chunks),
  "a reader": (chunks: readonly Uint8Array[]): ByteSource =>
    ReadableStream.from(chunks).getReader(),
};

/** Returns the number of turns that other work gets while a body is read to its end. */
async function turnsOfOthers(
  body: ByteSource,
): Promise<number> {
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    for (await nextTurn(); !isOver; await nextTurn()) turns++;
  })();
  const reader = createByteReader(body);
  while (!(await reader.read()).done);
  isOver = true;
  await others;
  return turns;
}

for (const [kind, bodyOf] of Object.entries(READY)) {
  Deno.test(`createByteReader() yields after every 64 KiB that have arrived in ${kind}, in chunks of any size`, async () => {
    const large = Array.from({ length: 64 }, () => bytes(16 * KIB, 1));
    assert.ok(await turnsOfOthers(bodyOf(large)) >= 15);
    const small = Array.from({ length: 4096 }, () => bytes(1, 1));
    assert.ok(await turnsOfOthers(bodyOf(small)) >= 15);
  });

  Deno.test(`createByteReader() does not yield between the chunks of ${kind} that is short`, async () => {
    const chunks = Array.from({ length: 100 }, () => bytes(200, 1));
    assert.equal(await turnsOfOthers(bodyOf(chunks)), 0);
  });

  Deno.test(`createByteReader() returns chunks of ${kind} up to the requested length`, async () => {
    const body = bodyOf([bytes(10, 1), bytes(9 * KIB, 2), bytes(5 * KIB, 3)]);
    const reader = createByteReader(body, { maxChunkBytes: 4 * KIB });
    const read: number[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      assert.ok(value.length <= 4 * KIB);
      read.push(...value);
    }
    const sent = [10, 9 * KIB, 5 * KIB]
      .flatMap((length, index) => Array(length).fill(index + 1));
    assert.deepEqual(read, sent);
  });
}

Deno.test("discard() cancels the body of a response", async () => {
  const cancelled = Promise.withResolvers<void>();
  discard(
    new Response(new ReadableStream({ cancel: () => cancelled.resolve() })),
  );
  await cancelled.promise;
});

Deno.test("discard() accepts a response without a body, and one that broke off", async () => {
  discard(new Response(null));
  const broken = new Response(
    new ReadableStream({
      start: (controller) => controller.error(new Error("reset")),
    }),
  );
  discard(broken);
  await settle();
  assert.ok(broken.bodyUsed);
});

Deno.test("readAll() cancels a body over its maximum, and returns undefined", async () => {
  for (const [maxBytes, length] of [[5, undefined], [6, 6], [7, 6]] as const) {
    let isCancelled = false;
    const chunks = [new Uint8Array(3), new Uint8Array(3)];
    const source = {
      read: () => Promise.resolve(next(chunks)),
      cancel() {
        isCancelled = true;
        return Promise.resolve();
      },
    };
    const bytes = await readAll(source, maxBytes, 6);
    assert.equal(bytes?.length, length, `at most ${maxBytes}`);
    assert.equal(isCancelled, true);
  }
});

/** Fails after the last chunk, so that waiting for more would fail the test. */
function next(chunks: Uint8Array[]): { done: false; value: Uint8Array } {
  const value = chunks.shift();
  assert.ok(value !== undefined);
  return { done: false, value };
}
