import assert from "node:assert/strict";
import {
  readExactly,
  WrongLengthError,
} from "../../src/streams/read_exactly.ts";
import { settle } from "../support/settle.ts";

const { signal } = new AbortController();

/** A stream of chunks of these lengths, of the one kind or the other; the bytes count up. */
function streamOf(
  lengths: readonly number[],
  type: "bytes" | undefined,
): ReadableStream<Uint8Array> {
  let byte = 0;
  const chunks = lengths.map((length) =>
    Uint8Array.from({ length }, () => byte++ % 251)
  );
  if (type === undefined) return ReadableStream.from(chunks);
  return new ReadableStream({
    type,
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
}

function counting(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index % 251);
}

for (const type of ["bytes", undefined] as const) {
  const kind = type === "bytes" ? "a byte stream" : "a stream of chunks";

  Deno.test(`readExactly() reads ${kind} whole`, async () => {
    for (const lengths of [[1000], [1, 2, 997], Array(1000).fill(1)]) {
      const body = streamOf(lengths, type);
      const whole = await readExactly(body, { length: 1000, signal });
      assert.deepEqual(whole, counting(1000));
    }
  });

  Deno.test(`readExactly() refuses ${kind} that is shorter or longer`, async () => {
    for (const length of [9, 11, 1]) {
      const body = streamOf([4, 6], type);
      await assert.rejects(
        readExactly(body, { length, signal }),
        WrongLengthError,
      );
    }
  });

  Deno.test(`readExactly() fails as ${kind} fails`, async () => {
    const source = {
      pull: () => Promise.reject(new Error("broken")),
    };
    const body = type === undefined
      ? new ReadableStream(source)
      : new ReadableStream({ ...source, type });
    await assert.rejects(readExactly(body, { length: 10, signal }), /broken/);
  });

  Deno.test(`readExactly() gives ${kind} up when it is told to`, async () => {
    const controller = new AbortController();
    const cancelled = Promise.withResolvers<void>();
    const source = { cancel: () => cancelled.resolve() };
    const body: ReadableStream<Uint8Array> = type === undefined
      ? new ReadableStream(source)
      : new ReadableStream({ ...source, type });
    const reading = readExactly(body, {
      length: 10,
      signal: controller.signal,
    });
    await settle();
    controller.abort();
    await assert.rejects(reading, WrongLengthError);
    await cancelled.promise;
  });
}
