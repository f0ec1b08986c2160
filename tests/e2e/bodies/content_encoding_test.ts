import assert from "node:assert/strict";
import {
  brotliCompressSync,
  constants,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { digest } from "../../support/wire/digest.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { paddedBody, streamOf } from "../../support/wire/padded_body.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

const MIB = 1024 * 1024;

type Compress = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

const FAST_BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Every content encoding that bodies may have (docs/design.md#errors). */
const ENCODINGS: Readonly<Record<string, Compress>> = {
  gzip: (bytes) => copy(gzipSync(bytes, { level: 1 })),
  "x-gzip": (bytes) => copy(gzipSync(bytes, { level: 1 })),
  deflate: (bytes) => copy(deflateSync(bytes, { level: 1 })),
  br: (bytes) => copy(brotliCompressSync(bytes, FAST_BROTLI)),
  zstd: (bytes) => copy(zstdCompressSync(bytes)),
  identity: (bytes) => bytes,
};

function copy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

const COMPRESSED = Object.entries(ENCODINGS)
  .filter(([encoding]) => encoding !== "identity");

Deno.test("a compressed body is sent decompressed, with its length and no encoding", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const body = new TextEncoder().encode(hello("chat", { x: "ü🙂".repeat(99) }));
  for (const [encoding, compress] of Object.entries(ENCODINGS)) {
    for (const name of [encoding, encoding.toUpperCase()]) {
      await t.step(name, async () => {
        const response = await gateway.call(
          PATHS.chat,
          ask("chat", compress(body), { "content-encoding": name }),
        );
        assert.equal(response.status, 200, await response.text());
        const seen = await upstream.requests.next();
        assert.deepEqual(seen.body, body);
        assert.equal(seen.headers.get("content-encoding"), null);
        assert.equal(seen.headers.get("content-length"), String(body.length));
        assert.equal((await gateway.lines.of(response)).bytes_in, body.length);
      });
    }
  }
});

Deno.test("a body is measured after decompression: the limit passes, one byte more is 413", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [encoding, compress] of COMPRESSED) {
    await t.step(encoding, async () => {
      const headers = { "content-encoding": encoding };
      const full = paddedBody("model-a", 8 * MIB);
      const passed = await gateway.call(
        PATHS.chat,
        ask("chat", compress(full), headers),
      );
      await passed.body?.cancel();
      const seen = await upstream.requests.next();
      assert.equal(await digest(seen.body), await digest(full));
      const over = compress(paddedBody("model-a", 8 * MIB + 1));
      const refused = await gateway.call(
        PATHS.chat,
        ask("chat", over, headers),
      );
      assert.equal((await readError(refused, "chat")).status, 413);
    });
  }
});

Deno.test("a compression bomb stops at the limit, with each protocol's error", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const zeros = new Uint8Array(256 * MIB);
  for (const [encoding, compress] of COMPRESSED) {
    const bomb = compress(zeros);
    for (const protocol of PROTOCOLS) {
      await t.step(`${encoding}: ${protocol}`, async () => {
        const response = await gateway.call(
          PATHS[protocol],
          ask(protocol, bomb, { "content-encoding": encoding }),
        );
        const error = await readError(response, protocol);
        assert.equal(error.status, 413);
        assert.equal(error.type, "request_too_large");
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("a compression bomb is rejected before its end has arrived", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  using socket = await connectRaw(gateway.port);
  const member = gzipSync(new Uint8Array(MIB));
  await socket.write(
    `POST ${PATHS.chat} HTTP/1.1\r\nhost: a\r\ncontent-encoding: gzip\r\n` +
      `content-type: application/json\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n` +
      "transfer-encoding: chunked\r\n\r\n",
  );
  for (let count = 0; count < 64; count++) {
    await socket.write(`${member.length.toString(16)}\r\n`);
    await socket.write(member);
    await socket.write("\r\n");
  }
  assert.equal(errorAnswer(await socket.answer(), "chat").status, 413);
});

Deno.test("a body that violates its encoding is 400", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const body = new TextEncoder().encode(hello("chat"));
  for (const [encoding, compress] of COMPRESSED) {
    const compressed = compress(body);
    const broken = {
      "not compressed": body,
      "cut": compressed.slice(0, -3),
      "nothing": new Uint8Array(),
    };
    for (const [name, bytes] of Object.entries(broken)) {
      await t.step(`${encoding}: ${name}`, async () => {
        const headers = { "content-encoding": encoding };
        const response = await gateway.call(
          PATHS.chat,
          ask("chat", streamOf(bytes), headers),
        );
        const error = await readError(response, "chat");
        assert.equal(error.status, 400);
        assert.equal(error.type, "invalid_request_error");
      });
    }
  }
});

Deno.test("other encodings are 415, with the accepted ones", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const protocol of PROTOCOLS) {
    for (const encoding of ["compress", "gzip, br", "utf-8", "constructor"]) {
      await t.step(`${protocol}: ${encoding}`, async () => {
        const response = await gateway.call(
          PATHS[protocol],
          ask(protocol, hello(protocol), { "content-encoding": encoding }),
        );
        const error = await readError(response, protocol);
        assert.equal(error.status, 415);
        assert.equal(error.type, "invalid_request_error");
        assert.equal(
          error.headers.get("accept-encoding"),
          "gzip, deflate, br, zstd",
        );
      });
    }
  }
});
