import { MalformedMessage } from "../../../../src/http1/failure.ts";
import { CallerLeft } from "../../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import {
  createDeadlines,
  type Deadlines,
} from "../../../../src/base/time/deadlines.ts";

import { type ErrorKind, GatewayError } from "../../../../src/base/error.ts";
import { readBody } from "../../../../src/gateway/relay/request/body.ts";
import {
  createBodyMemory,
  type MemoryShare,
} from "../../../../src/gateway/relay/request/body_memory.ts";
import {
  bodyBytes,
  type HeldBody,
} from "../../../../src/gateway/relay/request/held_body.ts";
import { LongBytes } from "../../../../src/base/streams/bytes.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { nextTurn, settle } from "../../../support/settle.ts";
import { within } from "../../../support/within.ts";
import { steps } from "../../../support/steps.ts";

const MAX_BYTES = 2 * 1024 * 1024;

type Body = ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string;

/** Returns a request as a handler receives it, but with plain streams instead of byte streams. */
function requestOf(
  body: Body | undefined,
  headers: Readonly<Record<string, string>> = {},
): Request {
  const init = { method: "POST", headers: { ...headers } };
  const request = new Request(
    "http://gateway/",
    body === undefined ? init : { ...init, body },
  );
  if (headers["content-type"] === undefined) {
    request.headers.delete("content-type");
  }
  return request;
}

interface Reading {
  readonly deadlines?: Deadlines;
  readonly deadlineMs?: number;
  readonly memory?: MemoryShare;
  readonly onChunk?: (chunk: Uint8Array) => void;
}

function hold(
  request: Request,
  {
    deadlines = createDeadlines(createFakeTimers()),
    deadlineMs = 0,
    memory = createBodyMemory().open(MAX_BYTES, "alice"),
    onChunk = () => {},
  }: Reading = {},
): Promise<HeldBody> {
  return readBody({ request, headers: request.headers }, {
    deadlines,
    maxBytes: MAX_BYTES,
    deadlineMs,
    memory,
    onChunk,
  });
}

async function read(request: Request, reading?: Reading): Promise<Uint8Array> {
  return await bodyBytes(await hold(request, reading));
}

function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => index % 251);
}

/** Returns the bytes as a stream of 64 KiB chunks. */
function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(start, start + 65_536));
      start += 65_536;
    },
  });
}

function isGatewayError(kind: ErrorKind): (error: unknown) => boolean {
  return (error) => error instanceof GatewayError && error.kind === kind;
}

/** The longest body that is returned as one array, in bytes. */
const SHORT_BYTES = 64 * 1024;

const PIECE_BYTES = 1024 * 1024;

const SIZES = [
  0,
  1,
  1000,
  16 * 1024,
  16 * 1024 + 1,
  SHORT_BYTES,
  SHORT_BYTES + 1,
  PIECE_BYTES,
  PIECE_BYTES + 1,
  MAX_BYTES,
];

Deno.test("readBody() reads a body with a declared length", async () => {
  for (const size of SIZES) {
    const headers = { "content-length": String(size) };
    for (const body of [bytesOf(size), streamOf(bytesOf(size))]) {
      assert.deepEqual(await read(requestOf(body, headers)), bytesOf(size));
    }
  }
});

Deno.test("readBody() reads a body without a declared length", async () => {
  for (const size of SIZES) {
    const bytes = await read(requestOf(streamOf(bytesOf(size))));
    assert.deepEqual(bytes, bytesOf(size));
  }
});

/** Returns every way to declare a length, for each way to send a body. */
function waysOfSending(size: number): readonly Request[] {
  const headers = { "content-length": String(size) };
  const gzip = { "content-encoding": "gzip" };
  return [
    requestOf(bytesOf(size), headers),
    requestOf(streamOf(bytesOf(size)), headers),
    requestOf(streamOf(bytesOf(size))),
    requestOf(Uint8Array.from(gzipSync(bytesOf(size))), gzip),
  ];
}

Deno.test("readBody() passes on every byte of an arriving body, in chunks of at most 1 MiB", async () => {
  for (const size of SIZES) {
    for (const request of waysOfSending(size)) {
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      await hold(request, { onChunk: (chunk) => chunks.push(chunk.slice()) });
      assert.deepEqual(await new Blob(chunks).bytes(), bytesOf(size));
      assert.ok(chunks.every(({ length }) => length <= PIECE_BYTES));
    }
  }
});

Deno.test("readBody() passes on the beginning of a long body before its end arrives", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const headers = { "content-length": String(MAX_BYTES) };
  const first = Promise.withResolvers<number>();
  const reading = hold(requestOf(readable, headers), {
    onChunk: ({ length }) => first.resolve(length),
  });
  await writer.write(bytesOf(MAX_BYTES).subarray(0, PIECE_BYTES));
  assert.ok(await first.promise <= PIECE_BYTES);
  await writer.write(bytesOf(MAX_BYTES).subarray(PIECE_BYTES));
  await writer.close();
  assert.deepEqual(await bodyBytes(await reading), bytesOf(MAX_BYTES));
});

Deno.test("readBody() returns a long body in pieces of at most 1 MiB, and a short one as an array", async () => {
  for (const size of SIZES) {
    for (const request of waysOfSending(size)) {
      const held = await hold(request);
      const isLong = size > SHORT_BYTES;
      assert.equal(held instanceof LongBytes, isLong);
      if (!(held instanceof LongBytes)) continue;
      assert.ok(held.pieces.every(({ length }) => length <= PIECE_BYTES));
    }
  }
});

Deno.test("readBody() reads a request without a body as an empty one", async () => {
  assert.equal((await read(requestOf(undefined))).length, 0);
});

Deno.test("readBody() decodes a content encoding with any declared length", async () => {
  const compressed = Uint8Array.from(gzipSync(bytesOf(300_000)));
  const headers = { "content-encoding": "gzip" };
  for (const declared of [undefined, String(compressed.length)]) {
    const request = requestOf(streamOf(compressed), {
      ...headers,
      ...(declared === undefined ? {} : { "content-length": declared }),
    });
    assert.deepEqual(await read(request), bytesOf(300_000));
  }
});

Deno.test("readBody() rejects a body with a length above the limit unread", async () => {
  const headers = { "content-length": String(MAX_BYTES + 1) };
  const request = requestOf(streamOf(bytesOf(10)), headers);
  await assert.rejects(read(request), (error) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, "body_too_large");
    assert.equal(
      error.message,
      "Cannot accept a body of this size: this path accepts up to 2 MiB. Send less.",
    );
    return true;
  });
  assert.equal(request.bodyUsed, false);
});

Deno.test("readBody() stops reading and rejects a body that becomes too long", async (t) => {
  const headers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "without a declared length": {},
    "with one that is no number": { "content-length": "1e3" },
  };
  await steps(t, Object.entries(headers), async ([, given]) => {
    let pulled = 0;
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
      cancel: () => cancelled.resolve(),
    });
    await assert.rejects(
      read(requestOf(body, given)),
      isGatewayError("body_too_large"),
    );
    await cancelled.promise;
    assert.ok(pulled < 2 * MAX_BYTES);
  });
  await t.step("by one byte", async () => {
    await assert.rejects(
      read(requestOf(streamOf(bytesOf(MAX_BYTES + 1)))),
      isGatewayError("body_too_large"),
    );
  });
});

Deno.test("readBody() counts the decompressed bytes", async () => {
  for (
    const [size, fits] of [[MAX_BYTES, true], [MAX_BYTES + 1, false]] as const
  ) {
    const compressed = Uint8Array.from(gzipSync(new Uint8Array(size)));
    const request = requestOf(compressed, {
      "content-encoding": "gzip",
      "content-length": String(compressed.length),
    });
    if (fits) assert.equal((await read(request)).length, size);
    else await assert.rejects(read(request), isGatewayError("body_too_large"));
  }
});

Deno.test("readBody() rejects a body with another length than declared", async () => {
  for (const declared of [1000, 300_000]) {
    for (const actual of [declared - 1, declared + 1]) {
      const headers = { "content-length": String(declared) };
      await assert.rejects(
        read(requestOf(streamOf(bytesOf(actual)), headers)),
        isGatewayError("invalid_request"),
      );
    }
  }
});

Deno.test("readBody() rejects a body that violates its content encoding", async () => {
  const request = requestOf("{}", { "content-encoding": "gzip" });
  await assert.rejects(read(request), isGatewayError("invalid_request"));
});

Deno.test("readBody() rejects unknown content encodings", async () => {
  const request = requestOf("{}", { "content-encoding": "compress" });
  await assert.rejects(read(request), isGatewayError("unsupported_media_type"));
});

Deno.test("readBody() accepts every JSON media type, and a missing type", async () => {
  const types = [
    "application/json",
    "Application/JSON; charset=utf-8",
    " application/json ;charset=utf-8",
    "text/json",
    "application/vnd.api+json",
  ];
  for (const type of types) {
    const bytes = await read(requestOf("{}", { "content-type": type }));
    assert.equal(new TextDecoder().decode(bytes), "{}", type);
  }
  assert.equal((await read(requestOf("{}"))).length, 2);
});

Deno.test("readBody() rejects every other type before it reads", async () => {
  const types = [
    "text/plain",
    "application/jsonl",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=json",
    "image/json",
    "json",
    "application/json-seq",
    "application/json, text/plain",
    "x application/json",
  ];
  for (const type of types) {
    const request = requestOf("{}", { "content-type": type });
    await assert.rejects(
      read(request),
      isGatewayError("unsupported_media_type"),
      type,
    );
    assert.equal(request.bodyUsed, false);
  }
});

/** The headers of an incomplete body, one for each way to read it. */
const UNFINISHED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "of a small declared length": { "content-length": "1000" },
  "of a large declared length": { "content-length": "300000" },
  "of no declared length": {},
  "in a content encoding": { "content-encoding": "gzip" },
};

Deno.test("readBody() rejects a body that does not arrive in time", (t) =>
  steps(t, Object.entries(UNFINISHED), async ([, given]) => {
    const timers = createFakeTimers();
    const deadlines = createDeadlines(timers);
    const body = new ReadableStream<Uint8Array>();
    const reading = read(requestOf(body, given), {
      deadlines,
      deadlineMs: 5000,
    });
    await settle();
    timers.advance(5000);
    await assert.rejects(reading, (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.kind, "body_timeout");
      assert.equal(error.status, 408);
      return true;
    });
    assert.equal(timers.running, 0);
  }));

Deno.test("readBody() cancels a late body at the deadline, compressed or not, even if nothing more arrives", async (t) => {
  const begun = Uint8Array.from(gzipSync(bytesOf(300_000))).slice(0, -20);
  const { "of a small declared length": _, ...long } = UNFINISHED;
  await steps(t, Object.entries(long), async ([, given]) => {
    const timers = createFakeTimers();
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(begun),
      cancel: () => cancelled.resolve(),
    });
    const reading = read(requestOf(body, given), {
      deadlines: createDeadlines(timers),
      deadlineMs: 5000,
    });
    for (let count = 0; count < 5; count++) await settle();
    timers.advance(5000);
    await assert.rejects(reading, isGatewayError("body_timeout"));
    await within(cancelled.promise, "the body to be let go");
  });
});

Deno.test("readBody() leaves no deadline behind, whether it succeeds or fails", async () => {
  const timers = createFakeTimers();
  const options = { deadlines: createDeadlines(timers), deadlineMs: 5000 };
  await read(requestOf("{}"), options);
  await assert.rejects(
    read(requestOf("{}", { "content-encoding": "x" }), options),
  );
  await assert.rejects(
    read(requestOf(streamOf(bytesOf(MAX_BYTES + 1))), options),
  );
  assert.equal(timers.running, 0);
});

Deno.test("readBody() rejects malformed chunks", async () => {
  for (const encoding of ["identity", "gzip"]) {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        controller.error(new MalformedMessage("its chunks are malformed")),
    });
    const headers = {
      "transfer-encoding": "chunked",
      "content-encoding": encoding,
    };
    await assert.rejects(
      read(requestOf(body, headers)),
      isGatewayError("invalid_request"),
    );
  }
});

Deno.test("readBody() treats a body that breaks off as a disconnect", (t) =>
  steps(t, Object.entries(UNFINISHED), async ([, given]) => {
    const cause = new TypeError("connection closed");
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(cause),
    });
    await assert.rejects(read(requestOf(body, given)), (error) => {
      assert.ok(error instanceof CallerLeft);
      assert.equal(error.cause, cause);
      return true;
    });
  }));

Deno.test("readBody() rejects a body unread when its declared length exceeds the memory", async () => {
  for (const size of [1000, SHORT_BYTES + 1]) {
    const memory = createBodyMemory();
    let pulled = false;
    const body = new ReadableStream<Uint8Array>({
      pull() {
        pulled = true;
      },
    }, { highWaterMark: 0 });
    const request = requestOf(body, { "content-length": String(size) });
    await assert.rejects(
      hold(request, { memory: memory.open(size - 1, "alice") }),
      isGatewayError("overloaded"),
    );
    assert.ok(!pulled);
    assert.equal(memory.usedBytes, 0);
    const enough = requestOf(bytesOf(size), { "content-length": String(size) });
    await hold(enough, { memory: memory.open(size, "alice") });
    assert.equal(memory.usedBytes, size);
  }
});

Deno.test("readBody() takes memory for a body of unknown or compressed length as it arrives", async () => {
  const gzip = { "content-encoding": "gzip" };
  const size = PIECE_BYTES + 1000;
  const requests = [
    () => requestOf(streamOf(bytesOf(size))),
    () => requestOf(Uint8Array.from(gzipSync(bytesOf(size))), gzip),
  ];
  for (const request of requests) {
    const memory = createBodyMemory();
    await hold(request(), { memory: memory.open(2 * PIECE_BYTES, "alice") });
    assert.equal(memory.usedBytes, size);
    const small = createBodyMemory();
    await assert.rejects(
      hold(request(), { memory: small.open(size - 1, "alice") }),
      isGatewayError("overloaded"),
    );
    assert.equal(small.usedBytes, PIECE_BYTES);
  }
});

/** The headers of a long body that never arrives, one for each way to read it. */
const SILENT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "of a declared length": { "content-length": String(MAX_BYTES) },
  "in chunks": {},
  "in a content encoding": { "content-encoding": "gzip" },
  "in a content encoding with its length": {
    "content-encoding": "gzip",
    "content-length": String(MAX_BYTES),
  },
};

Deno.test("readBody() takes little memory for a silent body, and frees it at the deadline", (t) =>
  steps(t, Object.entries(SILENT), async ([, given]) => {
    const timers = createFakeTimers();
    const memory = createBodyMemory();
    const share = memory.open(MAX_BYTES, "alice");
    const reading = hold(requestOf(new ReadableStream(), given), {
      deadlines: createDeadlines(timers),
      deadlineMs: 5000,
      memory: share,
    });
    await settle();
    assert.ok(memory.usedBytes <= 16 * 1024, `${memory.usedBytes}`);
    timers.advance(5000);
    await assert.rejects(reading, isGatewayError("body_timeout"));
    share.close();
    assert.equal(memory.usedBytes, 0);
  }));

Deno.test("readBody() ends an evicted body at once", async (t) => {
  const maxBytes = 1.5 * PIECE_BYTES;
  const ways = {
    "of a declared length": { "content-length": String(maxBytes) },
    "in chunks": {},
  };
  await steps(t, Object.entries(ways), async ([, given]) => {
    const memory = createBodyMemory();
    const { readable, writable } = new TransformStream<
      Uint8Array,
      Uint8Array
    >();
    const reading = hold(requestOf(readable, given), {
      memory: memory.open(maxBytes, "alice"),
    });
    const refused = assert.rejects(reading, isGatewayError("overloaded"));
    await writable.getWriter().write(bytesOf(PIECE_BYTES));
    await settle();
    assert.equal(memory.usedBytes, PIECE_BYTES);
    memory.open(maxBytes, "bob").take(0.6 * maxBytes);
    await refused;
    assert.equal(memory.usedBytes, 0.6 * maxBytes);
  });
});

Deno.test("readBody() lets other work run between the parts of a body that has already arrived", async () => {
  const order: string[] = [];
  let over = false;
  const others = (async () => {
    while (!over) {
      order.push("other");
      await nextTurn();
    }
  })();
  const headers = { "content-length": String(PIECE_BYTES) };
  await hold(requestOf(bytesOf(PIECE_BYTES), headers), {
    onChunk: ({ length }) => {
      assert.ok(length <= 64 * 1024);
      order.push("part");
    },
  });
  over = true;
  await others;
  assert.equal(order.filter((one) => one === "part").length, 16);
  assert.doesNotMatch(order.join(" "), /part part/);
});

Deno.test("readBody() returns a body that no other caller's upload can evict", async () => {
  const memory = createBodyMemory();
  const readFor = async (caller: string, kib: number) => {
    const share = memory.open(100 * 1024, caller);
    await hold(requestOf(bytesOf(kib * 1024)), { memory: share });
  };
  await readFor("alice", 80);
  await assert.rejects(readFor("bob", 40), isGatewayError("overloaded"));
  assert.equal(memory.usedBytes, 80 * 1024);
});
