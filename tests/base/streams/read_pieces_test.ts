import assert from "node:assert/strict";
import {
  readPieces,
  TooLongError,
  WrongLengthError,
} from "../../../src/base/streams/read_pieces.ts";
import { settle } from "../../support/settle.ts";

type ReadPiecesOptions = Parameters<typeof readPieces>[1];

const { signal } = new AbortController();

/** Counts the memory that is taken, in bytes. */
function createCount() {
  const count = {
    bytes: 0,
    take: (bytes: number) => void (count.bytes += bytes),
    give: (bytes: number) => void (count.bytes -= bytes),
  };
  return count;
}

/** A body of either kind, with chunks of these lengths. Its bytes count up. */
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
    maxBytes: Infinity,
    pieceBytes: 100,
    memory: createCount(),
    onBytes() {},
    signal,
    ...options,
  });
}

function counting(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index % 251);
}

const PIECE_BYTES = 1024 * 1024;

/** Returns a body of either kind. */
function bodyOf(
  type: "bytes" | undefined,
  source: Pick<UnderlyingSource<Uint8Array>, "cancel"> & {
    pull?(): Promise<void>;
  },
): ReadableStream<Uint8Array> {
  return type === undefined
    ? new ReadableStream(source)
    : new ReadableStream({ ...source, type });
}

/** A body of `bytes` bytes in small chunks, each of which is made when it is read. */
function grains(
  totalBytes: number,
  type: "bytes" | undefined,
  onGrain: (bytes: number) => void = () => {},
): ReadableStream<Uint8Array> {
  let left = totalBytes;
  const source = {
    pull(
      controller: {
        enqueue(chunk: Uint8Array): void;
        close(): void;
        readonly byobRequest?: { respond(bytes: number): void } | null;
      },
    ) {
      const bytes = Math.min(left, 10_000);
      left -= bytes;
      onGrain(bytes);
      if (bytes > 0) return controller.enqueue(new Uint8Array(bytes));
      controller.close();
      controller.byobRequest?.respond(0);
    },
  };
  return type === undefined
    ? new ReadableStream(source, { highWaterMark: 0 })
    : new ReadableStream({ ...source, type });
}

for (const type of ["bytes", undefined] as const) {
  const kind = type === "bytes" ? "a byte stream" : "a stream of chunks";

  Deno.test(`readPieces() reads ${kind} into pieces of one length, from any chunks`, async () => {
    for (const lengths of [[1000], [1, 2, 997], Array(1000).fill(1)]) {
      for (const length of [1000, undefined]) {
        for (const pieceBytes of [1, 7, 100, 999, 1000, 1001]) {
          const seen: number[] = [];
          const pieces = await read(streamOf(lengths, type), {
            length,
            maxBytes: 1000,
            pieceBytes,
            onBytes: (bytes) => void seen.push(...bytes),
          });
          const rest = 1000 % pieceBytes;
          assert.deepEqual(pieces.map((piece) => piece.length), [
            ...Array(Math.floor(1000 / pieceBytes)).fill(pieceBytes),
            ...(rest === 0 ? [] : [rest]),
          ]);
          const whole = pieces.flatMap((piece) => [...piece]);
          assert.deepEqual(Uint8Array.from(whole), counting(1000));
          assert.deepEqual(seen, whole);
        }
      }
    }
  });

  Deno.test(`readPieces() passes the bytes of ${kind} to onBytes before it reads more`, async () => {
    for (const length of [30_000, undefined]) {
      let sent = 0;
      const body = grains(30_000, type, (bytes) => void (sent += bytes));
      const seen: number[] = [];
      await read(body, { length, onBytes: () => void seen.push(sent) });
      assert.ok(new Set(seen).size > 1, `${seen}`);
    }
  });

  Deno.test(`readPieces() rejects ${kind} that is shorter or longer than declared`, async () => {
    for (const length of [9, 11, 1]) {
      for (const pieceBytes of [3, 100]) {
        const reading = read(streamOf([4, 6], type), { length, pieceBytes });
        await assert.rejects(reading, WrongLengthError);
      }
    }
  });

  Deno.test(`readPieces() rejects ${kind} of unknown length that exceeds its maximum, and reads no further`, async () => {
    for (const pieceBytes of [3, 9, 100]) {
      for (const maxBytes of [9, 1, 0]) {
        let pulled = 0;
        const body = grains(1_000_000, type, (bytes) => void (pulled += bytes));
        const reading = read(body, { maxBytes, pieceBytes });
        await assert.rejects(reading, TooLongError);
        assert.ok(pulled < 100_000, `${pulled}`);
      }
      const fits = { maxBytes: 10, pieceBytes };
      const tooLong = read(streamOf([4, 6, 1], type), fits);
      await assert.rejects(tooLong, TooLongError);
      const pieces = await read(streamOf([4, 6], type), fits);
      assert.deepEqual(pieces.flatMap((piece) => [...piece]), [
        ...counting(10),
      ]);
    }
  });

  Deno.test(`readPieces() fails with the error of ${kind}`, async () => {
    const body = bodyOf(type, {
      pull: () => Promise.reject(new Error("broken")),
    });
    await assert.rejects(read(body, { length: 10 }), /broken/);
  });

  Deno.test(`readPieces() cancels ${kind} when onBytes fails`, async () => {
    const cancelled = Promise.withResolvers<void>();
    const body: ReadableStream<Uint8Array> = new ReadableStream({
      type,
      start: (controller: { enqueue(chunk: Uint8Array): void }) =>
        controller.enqueue(new Uint8Array(10)),
      cancel: () => cancelled.resolve(),
    } as UnderlyingDefaultSource<Uint8Array>);
    const onBytes = () => {
      throw new Error("not wanted");
    };
    await assert.rejects(read(body, { pieceBytes: 10, onBytes }), /not wanted/);
    await cancelled.promise;
  });

  Deno.test(`readPieces() cancels ${kind} when its signal aborts`, async () => {
    for (const length of [10, undefined]) {
      const controller = new AbortController();
      const cancelled = Promise.withResolvers<void>();
      const body = bodyOf(type, { cancel: () => cancelled.resolve() });
      const reading = read(body, { length, signal: controller.signal });
      await settle();
      const reason = new Error("enough");
      controller.abort(reason);
      await assert.rejects(reading, reason);
      await cancelled.promise;
    }
  });

  Deno.test(`readPieces() takes memory for ${kind} as it arrives, at most twice its bytes`, async () => {
    const totalBytes = 4 * PIECE_BYTES + 1;
    for (const length of [totalBytes, undefined]) {
      const memory = createCount();
      let come = 0;
      const body = grains(totalBytes, type, (bytes) => {
        assert.ok(memory.bytes <= 2 * come, `${come}`);
        come += bytes;
      });
      const pieces = await read(body, {
        length,
        pieceBytes: PIECE_BYTES,
        memory,
      });
      assert.equal(memory.bytes, totalBytes);
      const held = pieces.map(({ buffer }) => buffer.byteLength);
      assert.equal(held.reduce((one, other) => one + other), totalBytes);
    }
  });

  Deno.test(`readPieces() copies the bytes of ${kind} only a few times, even in small chunks`, async () => {
    const growths: number[] = [];
    const body = streamOf(Array(1000).fill(1), type);
    const take = (bytes: number) => void growths.push(bytes);
    await read(body, { pieceBytes: 1000, memory: { ...createCount(), take } });
    assert.ok(growths.length <= 11, `${growths}`);
  });

  Deno.test(`readPieces() takes no memory for silent ${kind}`, async () => {
    const memory = createCount();
    const controller = new AbortController();
    const body = bodyOf(type, { pull: () => new Promise(() => {}) });
    const reading = read(body, {
      length: 32 * PIECE_BYTES,
      pieceBytes: PIECE_BYTES,
      memory,
      signal: controller.signal,
    });
    await settle();
    assert.equal(memory.bytes, 0);
    controller.abort(new Error("enough"));
    await assert.rejects(reading, /enough/);
  });

  Deno.test(`readPieces() frees its pieces of ${kind} when memory is refused`, async () => {
    const most = 2 * PIECE_BYTES;
    const seen: Uint8Array[] = [];
    let taken = 0;
    const memory = {
      take(bytes: number) {
        taken += bytes;
        if (taken > most) throw new Error("full");
      },
      give() {},
    };
    const body = grains(4 * PIECE_BYTES, type);
    await assert.rejects(
      read(body, {
        pieceBytes: PIECE_BYTES,
        memory,
        onBytes: (bytes) => void seen.push(bytes),
      }),
      /full/,
    );
    assert.ok(seen.length > 0);
    assert.ok(seen.every(({ buffer }) => buffer.byteLength === 0));
  });
}

Deno.test("readPieces() keeps a chunk that is the whole body, and copies any other chunk", async () => {
  const cases = [[100, 100], [100, 60], [undefined, 100]] as const;
  for (const [length, pieceBytes] of cases) {
    const chunk = counting(100);
    const memory = createCount();
    const pieces = await read(ReadableStream.from([chunk]), {
      length,
      pieceBytes,
      memory,
    });
    assert.deepEqual(pieces.flatMap((piece) => [...piece]), [...chunk]);
    assert.equal(memory.bytes, 100);
    const isKept = pieces[0]?.buffer === chunk.buffer;
    assert.equal(isKept, length === 100 && pieceBytes === 100);
  }
});

Deno.test("readPieces() copies each chunk that is not the whole body, because the next read may overwrite it", async () => {
  const long = counting(20_000);
  const shared = counting(20_001).subarray(0, 20_000);
  const tooLong = counting(PIECE_BYTES + 1);
  const chunks = [counting(3), long, counting(5), shared, tooLong];
  const whole = chunks.flatMap((chunk) => [...chunk]);
  for (const length of [whole.length, undefined]) {
    const memory = createCount();
    const seen: number[] = [];
    const pieces = await read(ReadableStream.from(chunks), {
      length,
      maxBytes: whole.length,
      pieceBytes: PIECE_BYTES,
      memory,
      onBytes: (bytes) => {
        for (const byte of bytes) seen.push(byte);
      },
    });
    assert.deepEqual(pieces.flatMap((piece) => [...piece]), whole);
    assert.deepEqual(seen, whole);
    assert.equal(memory.bytes, whole.length);
    const kept = chunks.filter(({ buffer }) =>
      pieces.some((piece) => piece.buffer === buffer)
    );
    assert.deepEqual(kept, []);
  }
});

Deno.test("readPieces() frees a kept chunk when the body turns out too long", async () => {
  const long = counting(20_000);
  const body = ReadableStream.from([long, counting(1)]);
  await assert.rejects(
    read(body, { length: 20_000, pieceBytes: PIECE_BYTES }),
    WrongLengthError,
  );
  assert.equal(long.length, 0);
});
