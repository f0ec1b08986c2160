import assert from "node:assert/strict";
import {
  createByteReader,
  discard,
  readAll,
} from "../../src/streams/byte_reader.ts";
import { nextTurn, settle } from "../support/settle.ts";

/** A body as `fetch` gives it: it fills the buffers that it is handed, and records their sizes. */
function byteBody(chunks: readonly Uint8Array<ArrayBuffer>[]) {
  const handed: number[] = [];
  let next = 0;
  const body = new ReadableStream({
    type: "bytes",
    autoAllocateChunkSize: 65_536,
    pull(controller) {
      const request = controller.byobRequest;
      const chunk = chunks[next++];
      const view = request?.view;
      assert.ok(request && view);
      handed.push(view.byteLength);
      if (chunk === undefined) {
        controller.close();
        return request.respond(0);
      }
      const fits = Math.min(chunk.length, view.byteLength);
      new Uint8Array(view.buffer, view.byteOffset).set(chunk.subarray(0, fits));
      request.respond(fits);
    },
  });
  return { body, handed };
}

function bytes(length: number, value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(value);
}

Deno.test("createByteReader() waits with a small buffer and gives chunks that stay as they are", async () => {
  const sent = [bytes(10, 1), bytes(200, 2), bytes(30, 3)];
  const { body, handed } = byteBody(sent);
  const reader = createByteReader(body);
  const read: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    read.push(value);
  }
  assert.deepEqual(read, sent);
  assert.deepEqual(handed, [4096, 4096, 4096, 4096]);
  assert.deepEqual(read.map(({ buffer }) => buffer.byteLength), [10, 200, 30]);
});

/** How large the chunks are that a reader gives. */
async function sizesOf(
  body: ReadableStream<Uint8Array>,
  count: number,
): Promise<number[]> {
  const reader = createByteReader(body);
  const sizes: number[] = [];
  for (let number = 0; number < count; number++) {
    sizes.push((await reader.read()).value?.length ?? 0);
  }
  return sizes;
}

Deno.test("createByteReader() reads larger pieces while many bytes arrive, and small ones again afterwards", async () => {
  const much = Array.from({ length: 6 }, () => bytes(65_536, 1));
  const little = Array.from({ length: 3 }, () => bytes(5, 2));
  const { body, handed } = byteBody([...much, ...little]);
  assert.deepEqual(
    await sizesOf(body, 9),
    [4_096, 8_192, 16_384, 32_768, 65_536, 65_536, 5, 5, 5],
  );
  assert.deepEqual(handed.slice(-3), [65_536, 16_384, 4_096]);
});

Deno.test("createByteReader() soon takes pieces of one length in one read each", async () => {
  const first = [bytes(4_096, 1), bytes(4_904, 1)];
  const whole = Array.from({ length: 3 }, () => bytes(9_000, 1));
  const { body, handed } = byteBody([...first, ...whole, bytes(4_096, 1)]);
  assert.deepEqual(
    await sizesOf(body, 7),
    [4_096, 4_904, 9_000, 9_000, 9_000, 4_096, 0],
  );
  assert.deepEqual(
    handed,
    [4_096, 8_192, 12_288, 12_288, 12_288, 12_288, 8_192],
  );
});

Deno.test("createByteReader() takes a body whose length is known in one piece of that length", async () => {
  const { body, handed } = byteBody([bytes(300, 1)]);
  const reader = createByteReader(body, { firstBytes: 300 });
  const { value } = await reader.read();
  assert.deepEqual(value, bytes(300, 1));
  assert.equal(value?.buffer.byteLength, 300);
  assert.deepEqual(handed, [300]);
});

Deno.test("createByteReader() keeps nothing of a large buffer that little came in, though nothing is collected", async () => {
  const count = 256;
  const firstBytes = 64 * 1024;
  const readers = Array.from(
    { length: count },
    () => createByteReader(byteBody([bytes(10, 1)]).body, { firstBytes }),
  );
  const before = Deno.memoryUsage().external;
  for (const reader of readers) await reader.read();
  const grownBytes = Deno.memoryUsage().external - before;
  assert.ok(grownBytes < count * firstBytes / 4, `${grownBytes} more bytes`);
});

Deno.test("createByteReader() reads a body that is no stream of bytes", async () => {
  const reader = createByteReader(ReadableStream.from([bytes(3, 1)]));
  assert.deepEqual(await reader.read(), { done: false, value: bytes(3, 1) });
  assert.equal((await reader.read()).done, true);
});

Deno.test("createByteReader() forwards the source's error and the reader's cancel", async (t) => {
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

Deno.test("createByteReader() cannot read a locked body", () => {
  const { body } = byteBody([]);
  body.getReader();
  assert.throws(() => createByteReader(body), TypeError);
});

const KIB = 1024;

/** Bodies that are there already, in both forms that a body has. */
const READY = {
  "a stream of bytes": (chunks: readonly Uint8Array<ArrayBuffer>[]) =>
    byteBody(chunks).body,
  "a stream of chunks": (chunks: readonly Uint8Array<ArrayBuffer>[]) =>
    ReadableStream.from(chunks),
};

/** How many turns others have while a body is read to its end. */
async function turnsOfOthers(
  body: ReadableStream<Uint8Array>,
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
  Deno.test(`createByteReader() yields after every 64 KiB of ${kind} that has arrived, in chunks of any size`, async () => {
    const large = Array.from({ length: 64 }, () => bytes(16 * KIB, 1));
    assert.ok(await turnsOfOthers(bodyOf(large)) >= 15);
    const small = Array.from({ length: 4096 }, () => bytes(1, 1));
    assert.ok(await turnsOfOthers(bodyOf(small)) >= 15);
  });

  Deno.test(`createByteReader() does not yield between the chunks of short ${kind}`, async () => {
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
    assert.deepEqual(read.slice(0, 10), sent.slice(0, 10));
    if (kind === "a stream of chunks") assert.deepEqual(read, sent);
  });
}

Deno.test("discard() cancels the body of an answer", async () => {
  const cancelled = Promise.withResolvers<void>();
  discard(
    new Response(new ReadableStream({ cancel: () => cancelled.resolve() })),
  );
  await cancelled.promise;
});

Deno.test("discard() accepts an answer without a body, and one that broke off", async () => {
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

Deno.test("readAll() returns nothing of a body over its maximum, and cancels it", async () => {
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

/** Fails after the last chunk, for which nothing may wait. */
function next(chunks: Uint8Array[]): { done: false; value: Uint8Array } {
  const value = chunks.shift();
  assert.ok(value !== undefined);
  return { done: false, value };
}
