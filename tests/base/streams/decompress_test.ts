import assert from "node:assert/strict";
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import {
  type Compression,
  decompress,
} from "../../../src/base/streams/decompress.ts";
import { settle } from "../../support/settle.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

const COMPRESSORS: Readonly<
  Record<Exclude<Compression, "x-gzip">, (text: string) => Uint8Array>
> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: (text) => zstdCompressSync(text),
};

/** Bytes that compress well, and to more than one block. */
const TEXT = Array.from({ length: 20_000 }, (_, index) => `ü${index} `).join(
  "",
);

class Mismatch extends Error {}

function piecesOf(
  bytes: Uint8Array,
  pieceBytes: number,
): ReadableStream<Uint8Array> {
  return ReadableStream.from((function* () {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      yield bytes.slice(start, start + pieceBytes);
    }
  })());
}

async function inflate(
  body: ReadableStream<Uint8Array>,
  compression: Compression,
): Promise<string> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const mismatch = (cause: unknown) => new Mismatch("", { cause });
  for await (const chunk of decompress(body, compression, { mismatch })) {
    chunks.push(new Uint8Array(chunk));
  }
  return await new Blob(chunks).text();
}

const cases = Object.entries(COMPRESSORS) as [
  keyof typeof COMPRESSORS,
  (text: string) => Uint8Array,
][];

Deno.test("decompress() returns the original bytes, in any pieces", (t) =>
  steps(t, cases, async ([name, compress]) => {
    const bytes = compress(TEXT);
    for (const pieceBytes of [7, 1000, bytes.length]) {
      const text = await inflate(piecesOf(bytes, pieceBytes), name);
      assert.ok(text === TEXT, `in pieces of ${pieceBytes}`);
    }
  }));

Deno.test("decompress() rejects compressed data that is cut off at any place", async (t) => {
  const text = TEXT.slice(0, 300);
  await steps(t, cases, async ([name, compress]) => {
    const bytes = compress(text);
    assert.equal(await inflate(piecesOf(bytes, 50), name), text);
    for (let length = 0; length < bytes.length; length++) {
      await assert.rejects(
        inflate(piecesOf(bytes.subarray(0, length), 50), name),
        Mismatch,
        `after ${length} of ${bytes.length} bytes`,
      );
    }
  });
});

Deno.test("decompress() rejects a long body of compressed data that is cut off", (t) =>
  steps(t, cases, async ([name, compress]) => {
    const bytes = compress(TEXT);
    for (const missing of [1, 2, 5, 100, bytes.length >> 1]) {
      await assert.rejects(
        inflate(piecesOf(bytes.subarray(0, -missing), 1000), name),
        Mismatch,
        `without its last ${missing} bytes`,
      );
    }
  }));

Deno.test("decompress() rejects a brotli stream that was flushed but not ended", async () => {
  const flushed = createBrotliCompress();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  flushed.on("data", (chunk) => chunks.push(new Uint8Array(chunk)));
  flushed.write("data: 1\n\n");
  await new Promise<void>((resolve) =>
    flushed.flush(constants.BROTLI_OPERATION_FLUSH, () => resolve())
  );
  flushed.destroy();
  const bytes = await new Blob(chunks).bytes();
  await assert.rejects(inflate(piecesOf(bytes, 100), "br"), Mismatch);
});

Deno.test("decompress() accepts complete zstd frames of every shape, and rejects cut ones", async () => {
  const params = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
  const frames = [
    zstdCompressSync(""),
    zstdCompressSync("a".repeat(1_000_000)),
    zstdCompressSync(TEXT, params),
  ];
  for (const frame of frames) {
    await inflate(piecesOf(frame, 1000), "zstd");
    const cut = frame.subarray(0, -1);
    await assert.rejects(inflate(piecesOf(cut, 1000), "zstd"), Mismatch);
  }
});

Deno.test("decompress() rejects bytes after a zstd frame, which would be lost", async () => {
  const frame = zstdCompressSync("a");
  const two = new Uint8Array([...frame, ...frame]);
  for (const pieceBytes of [3, 1000]) {
    const body = piecesOf(two, pieceBytes);
    await assert.rejects(inflate(body, "zstd"), Mismatch);
  }
});

Deno.test("decompress() rejects an uncompressed body", async () => {
  for (const [name] of cases) {
    const body = piecesOf(new TextEncoder().encode('{"a":"b"}'), 100);
    await assert.rejects(inflate(body, name), Mismatch, name);
  }
});

Deno.test("decompress() forwards the error of a body that breaks off", async () => {
  const bytes = new Uint8Array(gzipSync(TEXT));
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.slice(0, 1000));
      controller.error(new TypeError("connection reset"));
    },
  });
  await assert.rejects(inflate(broken, "gzip"), /connection reset/);
});

Deno.test("decompress() returns an empty chunk for bytes without output", async () => {
  const bytes = new Uint8Array(gzipSync("hello"));
  const source = piecesOf(bytes, 1);
  const chunks = decompress(source, "gzip", { mismatch: () => new Mismatch() })
    .getReader();
  const first = await chunks.read();
  assert.equal(first.value?.length, 0);
  await chunks.cancel();
});

Deno.test("decompress() inflates no more than is read, and releases the body", async () => {
  const bomb = new Uint8Array(gzipSync(new Uint8Array(64 * 1024 * 1024)));
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bomb.slice(0, 1000)),
    cancel() {
      cancelled = true;
    },
  });
  const chunks = decompress(body, "gzip", { mismatch: () => new Mismatch() });
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > 0) break;
  }
  assert.ok(length <= 64 * 1024);
  assert.equal(cancelled, true);
});

Deno.test("decompress() releases a silent body as soon as it is cancelled", async (t) => {
  for (const [name, compress] of cases) {
    for (const bytes of [0, 50, 1000]) {
      await t.step(`${name}, ${bytes} bytes`, async () => {
        const cancelled = Promise.withResolvers<unknown>();
        const body = new ReadableStream<Uint8Array>({
          start: (controller) =>
            controller.enqueue(compress(TEXT).slice(0, bytes)),
          cancel: (reason) => cancelled.resolve(reason),
        });
        const mismatch = () => new Mismatch();
        const chunks = decompress(body, name, { mismatch }).getReader();
        const reading = readToEnd(chunks);
        await settle();
        await within(chunks.cancel("left"), "the cancelling");
        assert.equal(await cancelled.promise, "left");
        await reading;
      });
    }
  }
});

async function readToEnd(
  chunks: ReadableStreamDefaultReader<Uint8Array>,
): Promise<void> {
  while (!(await chunks.read()).done);
}

Deno.test("decompress() cancels a body that is not valid in its compression", async () => {
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(100)),
    cancel: () => cancelled.resolve(),
  });
  const mismatch = (cause: unknown) => new Error("mismatch", { cause });
  const inflated = decompress(body, "gzip", { mismatch });
  await assert.rejects(new Response(inflated).bytes(), /mismatch/);
  await within(cancelled.promise, "the body is cancelled");
});
