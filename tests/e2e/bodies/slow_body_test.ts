import assert from "node:assert/strict";
import {
  brotliCompressSync,
  constants,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import type { Protocol } from "../../../src/base/protocol.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import {
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { paddedBody } from "../../support/wire/padded_body.ts";
import {
  connectRaw,
  openUploads,
  sendRaw,
} from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { steps } from "../../support/steps.ts";

function head(protocol: Protocol, ...lines: readonly string[]): string {
  return [
    `POST ${PATHS[protocol]} HTTP/1.1`,
    "host: a",
    "content-type: application/json",
    `authorization: Bearer ${ALICE_TOKEN}`,
    "anthropic-version: 2023-06-01",
    ...lines,
    "\r\n",
  ].join("\r\n");
}

/** Bodies that begin and then stop. */
const STALLED: Readonly<Record<string, readonly string[]>> = {
  "with its length": ["content-length: 100"],
  "with a large length": ["content-length: 4000000"],
  "chunked": ["transfer-encoding: chunked"],
  "compressed": ["content-length: 100", "content-encoding: gzip"],
};

Deno.test("a body that does not arrive in time is 408, and the slot is free again", async (t) => {
  const timeouts = { body: 100 };
  await using gateway = await startGateway(
    familiesFile("http://127.0.0.1:9", { timeouts }),
  );
  for (const protocol of PROTOCOLS) {
    for (const [name, lines] of Object.entries(STALLED)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const request = head(protocol, ...lines);
        const answer = await sendRaw(gateway.port, request);
        const error = errorAnswer(answer, protocol);
        assert.equal(error.status, 408);
        assert.equal(answer.isWhole, true);
        // Deno adds a second `close` when it should read the whole body at once.
        assert.match(answer.headers.get("connection") ?? "", /^close\b/);
        assert.equal(error.type, "timeout_error");
        const line = await gateway.lines.requests.next();
        assert.equal(line.status, 408);
        assert.equal(line.ended, "error");
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
});

Deno.test("a body that arrives slowly is 408, too: the deadline applies to the whole body", async () => {
  const timeouts = { body: 300 };
  await using gateway = await startGateway(
    familiesFile("http://127.0.0.1:9", { timeouts }),
  );
  using socket = await connectRaw(gateway.port);
  await socket.write(head("chat", "content-length: 1000000"));
  let answered = false;
  const answer = socket.answer().finally(() => {
    answered = true;
  });
  while (!answered) {
    await socket.write(" ");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(errorAnswer(await answer, "chat").status, 408);
});

/** Bodies whose sender disconnects before their end. */
const BROKEN_OFF: Readonly<Record<string, readonly [string, string]>> = {
  "shorter than its length": ["content-length: 100", `{"model":`],
  "far shorter than its length": ["content-length: 4000000", `{"model":`],
  "without its last chunk": ["transfer-encoding: chunked", "2\r\n{}\r\n"],
};

Deno.test("a body that breaks off reaches no upstream and is logged as a disconnect", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(BROKEN_OFF), async ([, [line, body]]) => {
    const socket = await connectRaw(gateway.port);
    await socket.write(head("chat", line) + body);
    socket[Symbol.dispose]();
    const { ended, status } = await gateway.lines.requests.next();
    assert.equal(ended, "client_abort");
    assert.equal(status, 499);
    assert.equal(gateway.admission.active, 0);
  });
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("bytes after the declared length are not part of the body", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const body = hello("chat");
  const length = `content-length: ${body.length - 1}`;
  const answer = await sendRaw(gateway.port, head("chat", length) + body);
  assert.equal(errorAnswer(answer, "chat").status, 400);
  assert.equal(upstream.requests.items.length, 0);
});

const MIB = 1024 * 1024;

const BOB_TOKEN = "mg_bob";

/** Returns a configuration with little memory for bodies, and two callers. */
function crowdedFile(url: string): Record<string, unknown> {
  return familiesFile(url, {
    server: { max_body_memory: 64 * MIB },
    tokens: [
      tokenFile(),
      tokenFile({ name: "bob", sha256: sha256Hex(BOB_TOKEN) }),
    ],
  });
}

/** Begins uploads of alice's. The gateway then has each, or has rejected it. */
function beginUploads(
  gateway: RunningGateway,
  count: number,
  begun: readonly (string | Uint8Array)[],
): Promise<Disposable> {
  return openUploads(gateway.port, {
    count,
    begun,
    areThere: () => gateway.admission.active + refusals(gateway) >= count,
  });
}

function refusals({ lines }: RunningGateway): number {
  return lines.requests.items.filter(({ token }) => token === "alice").length;
}

/** Sends a short and a long request of bob's. */
async function askAsBob(gateway: RunningGateway): Promise<readonly number[]> {
  const bodies = [hello("messages"), paddedBody("model-b", 8 * MIB)];
  const statuses: number[] = [];
  for (const body of bodies) {
    const response = await gateway.ask(
      "messages",
      body,
      credentials("messages", BOB_TOKEN),
    );
    await response.body?.cancel();
    statuses.push(response.status);
  }
  return statuses;
}

/** Uploads of one byte or next to nothing. */
const SILENT: Readonly<Record<string, string>> = {
  "of a declared length": head("messages", `content-length: ${32 * MIB}`) + "{",
  "in chunks": head("messages", "transfer-encoding: chunked") + "1\r\n{\r\n",
  "compressed": head(
    "messages",
    `content-length: ${32 * MIB}`,
    "content-encoding: gzip",
  ) + "\x1f",
};

Deno.test("200 silent uploads of one token do not make a request of another token fail", async (t) => {
  await using upstream = startUpstream();
  await steps(t, Object.entries(SILENT), async ([, begun]) => {
    await using gateway = await startGateway(crowdedFile(upstream.url));
    using _uploads = await beginUploads(gateway, 200, [begun]);
    for (let turn = 0; turn < 5; turn++) {
      assert.deepEqual(await askAsBob(gateway), [200, 200]);
    }
  });
});

Deno.test("when one token's silent uploads fill the memory, another token's request evicts them", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(crowdedFile(upstream.url));
  using _uploads = await beginUploads(gateway, 12, [
    head("messages", "transfer-encoding: chunked"),
    `${(6 * MIB).toString(16)}\r\n`,
    new Uint8Array(6 * MIB),
  ]);
  const before = refusals(gateway);
  assert.ok(before < 12, `${before} of 12 uploads were refused`);
  for (let turn = 0; turn < 5; turn++) {
    assert.deepEqual(await askAsBob(gateway), [200, 200]);
  }
  for (const line of gateway.lines.requests.items) {
    if (line.token === "alice") assert.equal(line.status, 503);
  }
});

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

Deno.test("a compressed body is sent decompressed, with its length and no encoding", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const body = new TextEncoder().encode(hello("chat", { x: "ü🙂".repeat(99) }));
  for (const [encoding, compress] of Object.entries(ENCODINGS)) {
    await steps(t, [encoding, encoding.toUpperCase()], async (name) => {
      const response = await gateway.ask("chat", compress(body), {
        "content-encoding": name,
      });
      assert.equal(response.status, 200, await response.text());
      const seen = await upstream.requests.next();
      assert.deepEqual(seen.body, body);
      assert.equal(seen.headers.get("content-encoding"), null);
      assert.equal(seen.headers.get("content-length"), String(body.length));
      assert.equal((await gateway.lines.of(response)).bytes_in, body.length);
    });
  }
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

Deno.test("an unsupported content encoding is 415, and the response names the supported encodings", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const protocol of PROTOCOLS) {
    for (const encoding of ["compress", "gzip, br", "utf-8", "constructor"]) {
      await t.step(`${protocol}: ${encoding}`, async () => {
        const response = await gateway.ask(protocol, hello(protocol), {
          "content-encoding": encoding,
        });
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
