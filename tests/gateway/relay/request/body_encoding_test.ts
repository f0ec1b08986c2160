import assert from "node:assert/strict";
import {
  brotliCompressSync,
  constants,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import {
  bodyBytes,
  bodyChunks,
  bodyPart,
  keepBody,
} from "../../../../src/gateway/relay/request/held_body.ts";
import { LongBytes } from "../../../../src/base/streams/bytes.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { decompress } from "../../../../src/gateway/relay/request/body.ts";
import { steps } from "../../../support/steps.ts";

const filled = (size: number) => new Uint8Array(size).fill(7);

/** Splits the bytes into chunks of a million. */
function inPieces(bytes: Uint8Array<ArrayBuffer>): LongBytes {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length; start += 1e6) {
    pieces.push(bytes.slice(start, start + 1e6));
  }
  return new LongBytes(pieces);
}

Deno.test("a held body can be read repeatedly by each of its holders", async () => {
  for (const size of [0, 1, 3e6]) {
    for (const held of [filled(size), inPieces(filled(size))]) {
      for (const _ of ["once", "twice"]) {
        assert.deepEqual(await bodyBytes(held), filled(size));
      }
      assert.equal(held.length, size);
    }
  }
});

Deno.test("a held body can be read in part, and piece by piece", async () => {
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, at) => at % 251);
  for (const held of [bytes, inPieces(bytes)]) {
    const spans = [[1_000_001, 1_000_011], [999_999, 2_000_001]] as const;
    for (const [start, end] of spans) {
      const part = bodyPart(held, { start, end });
      assert.deepEqual(part, bytes.slice(start, end));
    }
    const pieces = await Array.fromAsync(bodyChunks(held));
    assert.deepEqual(await new Blob(pieces).bytes(), bytes);
    assert.ok(pieces.every(({ length }) => length <= 1024 * 1024));
  }
  assert.deepEqual(await Array.fromAsync(bodyChunks(new Uint8Array())), []);
});

Deno.test("a released long body frees its memory at once", () => {
  const body = inPieces(filled(3e6));
  let count = 0;
  const kept = keepBody(body, () => count++);
  kept.lendTo({ whenThrough: (onThrough) => onThrough() });
  kept.release();
  assert.ok(body.pieces.every(({ buffer }) => buffer.detached));
  assert.throws(() => kept.get(), /was released/);
  kept.release();
  assert.equal(count, 1);
});

Deno.test("a long body is freed only after its release and its last upload", () => {
  const body = inPieces(filled(3e6));
  let count = 0;
  const kept = keepBody(body, () => count++);
  const ends: (() => void)[] = [];
  const upload = { whenThrough: (end: () => void) => void ends.push(end) };
  kept.lendTo(upload);
  kept.lendTo(upload);
  ends[0]?.();
  kept.release();
  assert.deepEqual(body.join(), filled(3e6));
  assert.equal(count, 0);
  ends[1]?.();
  assert.ok(body.pieces.every(({ buffer }) => buffer.detached));
  assert.equal(count, 1);
});

Deno.test("a released short body keeps its bytes", () => {
  const body = filled(10);
  keepBody(body, () => {}).release();
  assert.deepEqual(body, filled(10));
});

/** Partly compressible bytes that exceed one chunk of every decompressor. */
const PLAIN = new Uint8Array(300_000);
crypto.getRandomValues(PLAIN.subarray(0, 60_000));

/** Fast compression: the size of the output is irrelevant. */
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

const COMPRESSORS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> =
  {
    gzip: gzipSync,
    "x-gzip": gzipSync,
    deflate: deflateSync,
    br: (bytes) => brotliCompressSync(bytes, QUICK),
    zstd: zstdCompressSync,
  };

const COMPRESSED = Object.entries(COMPRESSORS).map(([encoding, compress]) =>
  [encoding, Uint8Array.from(compress(PLAIN))] as const
);

/** Returns the bytes as a stream of chunks of `size`. */
function streamOf(
  bytes: Uint8Array,
  size = 10_000,
): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(start, start + size));
      start += size;
    },
  });
}

async function read(
  body: ReadableStream<Uint8Array>,
  encoding: string | null,
): Promise<Uint8Array> {
  const chunks = await Array.fromAsync(decompress(body, encoding));
  return new Uint8Array(
    await new Blob(chunks.map((one) => one.slice())).arrayBuffer(),
  );
}

Deno.test("decompress() decodes every supported encoding, whatever the chunk size", (t) =>
  steps(t, COMPRESSED, async ([encoding, compressed]) => {
    for (const size of [7, 10_000, compressed.length]) {
      assert.deepEqual(await read(streamOf(compressed, size), encoding), PLAIN);
    }
    const spelled = ` ${encoding.toUpperCase()} `;
    assert.deepEqual(await read(streamOf(compressed), spelled), PLAIN);
  }));

Deno.test("decompress() decodes two consecutive gzip members", async () => {
  const twice = new Uint8Array([...gzipSync("ab"), ...gzipSync("cd")]);
  const bytes = await read(streamOf(twice), "gzip");
  assert.equal(new TextDecoder().decode(bytes), "abcd");
});

Deno.test("decompress() returns a body without encoding unchanged", async () => {
  for (const encoding of [null, "", " ", "identity", " Identity "]) {
    const body = streamOf(PLAIN);
    assert.equal(decompress(body, encoding), body);
    await body.cancel();
  }
});

Deno.test("decompress() rejects any other encoding before it reads", () => {
  for (
    const encoding of [
      "compress",
      "gzip, br",
      "identity, gzip",
      "snappy",
      "toString",
      "__proto__",
    ]
  ) {
    const body = streamOf(PLAIN);
    assert.throws(() => decompress(body, encoding), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.kind, "unsupported_media_type");
      assert.equal(error.headers["accept-encoding"], "gzip, deflate, br, zstd");
      return true;
    });
    assert.ok(!body.locked);
  }
});

function isBadEncoding(error: unknown): boolean {
  return error instanceof GatewayError && error.kind === "invalid_request" &&
    /content-encoding/.test(error.message);
}

Deno.test("decompress() rejects bodies that are not in the declared encoding", (t) =>
  steps(t, COMPRESSED, async ([encoding]) => {
    const json = new TextEncoder().encode('{"model":"m"}');
    await assert.rejects(read(streamOf(json), encoding), isBadEncoding);
  }));

Deno.test("decompress() rejects bodies with bytes after their end", (t) =>
  steps(t, COMPRESSED, async ([encoding, compressed]) => {
    const garbage = new Uint8Array(200_000).fill(7);
    const bytes = new Uint8Array([...compressed, ...garbage]);
    await assert.rejects(read(streamOf(bytes), encoding), isBadEncoding);
  }));

/**
 * The other two encodings may end early without an error. Their output is then shorter, and not
 * JSON.
 */
const KNOWS_ITS_END = ["gzip", "x-gzip", "deflate"];

Deno.test("decompress() never accepts a truncated or damaged body", async (t) => {
  for (const [encoding, compressed] of COMPRESSED) {
    const damaged = compressed.slice();
    damaged.fill(0xff, compressed.length / 2);
    const bodies: readonly (readonly [string, Uint8Array])[] = [
      ["cut off", compressed.subarray(0, compressed.length / 2)],
      ["damaged", damaged],
      ["empty", new Uint8Array()],
    ];
    for (const [name, bytes] of bodies) {
      await t.step(`${encoding}, ${name}`, async () => {
        try {
          const inflated = await read(streamOf(bytes), encoding);
          assert.ok(!KNOWS_ITS_END.includes(encoding));
          assert.notDeepEqual(inflated, PLAIN);
        } catch (error) {
          assert.ok(isBadEncoding(error), String(error));
        }
      });
    }
  }
});

Deno.test("decompress() throws the body's own error when the body breaks off", (t) =>
  steps(t, COMPRESSED, async ([encoding, compressed]) => {
    const broken = new Error("reset");
    let sent = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent) return controller.error(broken);
        controller.enqueue(compressed.slice(0, 1000));
        sent = true;
      },
    });
    await assert.rejects(read(body, encoding), broken);
  }));

/** A bomb: it inflates to a thousand times its size. */
const BOMB = new Uint8Array(64 * 1024 * 1024);

Deno.test("decompress() inflates a bomb only as far as it is read", (t) =>
  steps(t, Object.entries(COMPRESSORS), async ([encoding, compress]) => {
    const bomb = streamOf(compress(BOMB));
    let inflated = 0;
    for await (const chunk of decompress(bomb, encoding)) {
      inflated += chunk.length;
      if (inflated > 1024 * 1024) break;
    }
    assert.ok(inflated < 2 * 1024 * 1024, `${inflated} bytes inflated`);
  }));

Deno.test("decompress() reads ahead only little of the body, and cancels the body when the reader stops", async (t) => {
  const incompressible = new Uint8Array(4 * 1024 * 1024);
  for (let start = 0; start < incompressible.length; start += 65_536) {
    crypto.getRandomValues(incompressible.subarray(start, start + 65_536));
  }
  await steps(t, Object.entries(COMPRESSORS), async ([encoding, compress]) => {
    const compressed = compress(incompressible);
    let given = 0;
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(compressed.slice(given, given + 10_000));
        given += 10_000;
      },
      cancel: () => cancelled.resolve(),
    }, { highWaterMark: 0 });
    for await (const chunk of decompress(body, encoding)) {
      assert.ok(chunk.length > 0);
      break;
    }
    await cancelled.promise;
    assert.ok(given < 1024 * 1024, `${given} bytes read`);
  });
});
