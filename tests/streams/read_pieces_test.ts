import assert from "node:assert/strict";
import {
  readPieces,
  type ReadPiecesOptions,
  WrongLengthError,
} from "../../src/streams/read_pieces.ts";
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

function read(
  body: ReadableStream<Uint8Array>,
  options: Partial<ReadPiecesOptions>,
): Promise<Uint8Array[]> {
  return readPieces(body, {
    length: undefined,
    pieceBytes: 100,
    onPiece() {},
    signal,
    ...options,
  });
}

function counting(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index % 251);
}

for (const type of ["bytes", undefined] as const) {
  const kind = type === "bytes" ? "a byte stream" : "a stream of chunks";

  Deno.test(`readPieces() cuts ${kind} into pieces of one length, however it comes`, async () => {
    for (const lengths of [[1000], [1, 2, 997], Array(1000).fill(1)]) {
      for (const length of [1000, undefined]) {
        for (const pieceBytes of [1, 7, 100, 999, 1000, 1001]) {
          const seen: Uint8Array[] = [];
          const pieces = await readPieces(streamOf(lengths, type), {
            length,
            pieceBytes,
            onPiece: (piece) => void seen.push(piece),
            signal,
          });
          assert.deepEqual(seen, pieces);
          const rest = 1000 % pieceBytes;
          assert.deepEqual(pieces.map((piece) => piece.length), [
            ...Array(Math.floor(1000 / pieceBytes)).fill(pieceBytes),
            ...(rest === 0 ? [] : [rest]),
          ]);
          const whole = pieces.flatMap((piece) => [...piece]);
          assert.deepEqual(Uint8Array.from(whole), counting(1000));
        }
      }
    }
  });

  Deno.test(`readPieces() refuses ${kind} that is shorter or longer than was said`, async () => {
    for (const length of [9, 11, 1]) {
      for (const pieceBytes of [3, 100]) {
        const reading = read(streamOf([4, 6], type), { length, pieceBytes });
        await assert.rejects(reading, WrongLengthError);
      }
    }
  });

  Deno.test(`readPieces() fails as ${kind} fails`, async () => {
    const source = {
      pull: () => Promise.reject(new Error("broken")),
    };
    const body = type === undefined
      ? new ReadableStream(source)
      : new ReadableStream({ ...source, type });
    await assert.rejects(read(body, { length: 10 }), /broken/);
  });

  Deno.test(`readPieces() gives ${kind} up when whoever takes the pieces fails`, async () => {
    const cancelled = Promise.withResolvers<void>();
    const body: ReadableStream<Uint8Array> = new ReadableStream({
      type,
      start: (controller: { enqueue(chunk: Uint8Array): void }) =>
        controller.enqueue(new Uint8Array(10)),
      cancel: () => cancelled.resolve(),
    } as UnderlyingDefaultSource<Uint8Array>);
    const onPiece = () => {
      throw new Error("not wanted");
    };
    await assert.rejects(read(body, { pieceBytes: 10, onPiece }), /not wanted/);
    await cancelled.promise;
  });

  Deno.test(`readPieces() gives ${kind} up when it is told to`, async () => {
    for (const length of [10, undefined]) {
      const controller = new AbortController();
      const cancelled = Promise.withResolvers<void>();
      const source = { cancel: () => cancelled.resolve() };
      const body: ReadableStream<Uint8Array> = type === undefined
        ? new ReadableStream(source)
        : new ReadableStream({ ...source, type });
      const reading = read(body, { length, signal: controller.signal });
      await settle();
      controller.abort();
      await assert.rejects(reading, WrongLengthError);
      await cancelled.promise;
    }
  });
}
