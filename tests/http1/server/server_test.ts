import { createHttp1Server } from "../../../src/http1/server/server.ts";
import type { IncomingRequest } from "../../../src/http1/message.ts";
import {
  type AnyResponse,
  DirectResponse,
} from "../../../src/http1/direct_response.ts";
import { Socket } from "../../../src/http1/client/socket.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import {
  bytesOf,
  byteText,
  joinBytes,
} from "../../../src/base/streams/bytes.ts";
import {
  PassThrough,
  STALL_MS,
} from "../../../src/base/streams/pass_through.ts";
import { WatchedReader } from "../../../src/base/streams/watched_reader.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../../support/fakes/fake_timers.ts";
import { nextTurn } from "../../support/settle.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { until, within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

type Handle = (request: IncomingRequest) => AnyResponse | Promise<AnyResponse>;

/** A server and one caller's socket. */
function open(
  handle: Handle,
  duplex: ScriptedDuplex = createScriptedDuplex(),
  timers: FakeTimers = createFakeTimers(),
) {
  const requests: IncomingRequest[] = [];
  const spans: (number | undefined)[] = [];
  const server = createHttp1Server({
    handler: (request) => {
      requests.push(request);
      return Promise.resolve(handle(request));
    },
    scheme: "http",
    deadlines: createDeadlines(timers),
    tracing: {
      start: () => ({ run: (serve) => serve(), end: (end) => spans.push(end) }),
    },
  });
  server.serve(duplex);
  return { timers, server, duplex, requests, spans };
}

/** Waits until the caller has received a text, and returns all of it without dates. */
async function received(duplex: ScriptedDuplex, text: string): Promise<string> {
  await until(() => duplex.written.includes(text), `"${text}"`);
  return withoutDates(duplex.written);
}

function withoutDates(text: string): string {
  return text.replaceAll(/date: [^\r]+ GMT\r\n/g, "");
}

const GET = "GET /a HTTP/1.1\r\nhost: h\r\n\r\n";
const LAST = "GET /a HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";

function post(body: string, ...lines: readonly string[]): string {
  return [
    "POST /b HTTP/1.1",
    "host: h",
    `content-length: ${body.length}`,
    ...lines,
    "",
    body,
  ].join("\r\n");
}

function chunked(...chunks: readonly string[]): string {
  return "POST /c HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n" +
    chunks.join("");
}

/** The body of a response, which the test sends in parts. */
function openBody() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const cancelled = Promise.withResolvers<void>();
  let pulls = 0;
  const stream = new ReadableStream<Uint8Array>({
    start: (one) => void (controller = one),
    pull: () => void (pulls += 1),
    cancel: () => cancelled.resolve(),
  }, { highWaterMark: 0 });
  return {
    stream,
    cancelled: cancelled.promise,
    give: (text: string) => controller.enqueue(bytesOf(text)),
    end: () => controller.close(),
    fail: () => controller.error(new Error("broken")),
    pulls: () => pulls,
  };
}

Deno.test("a request names the address at the other end of its socket", async () => {
  const remoteAddr = { hostname: "192.0.2.1" };
  const known = Object.assign(createScriptedDuplex(), { remoteAddr });
  for (const duplex of [known, createScriptedDuplex()]) {
    const { requests } = open(() => new Response("hello"), duplex);
    duplex.give(GET);
    await received(duplex, "hello");
    assert.equal(requests[0]?.peer, duplex === known ? "192.0.2.1" : undefined);
  }
});

Deno.test("a response with a complete body has a content-length and is written at once with its head", async () => {
  const { duplex, server, requests } = open(() =>
    new Response("hello", { headers: { "x-a": "b" } })
  );
  duplex.give(GET);
  assert.equal(
    await received(duplex, "hello"),
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain;charset=UTF-8\r\nx-a: b\r\n" +
      "content-length: 5\r\n\r\nhello",
  );
  assert.equal(requests[0]?.url, "http://h/a");
  assert.equal(requests[0]?.body, null);
  await server.close();
});

Deno.test("bytes that wait in a provider's socket need two reads, and one write together with the head", async () => {
  const provider = createScriptedDuplex();
  const event = `data: ${"x".repeat(250)}\n\n`;
  const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
  provider.give(
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${
      chunk.repeat(200)
    }0\r\n\r\n`,
  );
  const { read } = provider;
  let reads = 0;
  provider.read = async (into) => {
    reads++;
    const count = await read(into);
    // The platform's own read takes the same number of turns.
    await undefined;
    return count;
  };
  const { signal } = new AbortController();
  const socket = new Socket(provider, () => {});
  const deadlines = createDeadlines(createFakeTimers());
  const { duplex, server } = open(async () => {
    const { body } = await socket.send({
      ...{ method: "GET", host: "h", target: "/", headers: [], signal },
      body: undefined,
    });
    assert.ok(body);
    const source = new WatchedReader(body, { deadlines, idleMs: 1, signal });
    const passing = { deadlines, onChunk: () => {}, onEnd: () => {} };
    return new DirectResponse(new PassThrough(source, passing), {
      headers: [],
    });
  });
  const { write } = duplex;
  let writes = 0;
  duplex.write = (bytes) => (writes++, write(bytes));
  duplex.give(GET);
  await until(() => duplex.written.endsWith(event.repeat(200)), "the events");
  assert.equal(reads, 2);
  assert.equal(writes, 1);
  await server.close();
});

Deno.test("the date of a provider's response is kept, and its connection headers are the server's own", async () => {
  const { duplex, server } = open(() =>
    new Response("x", {
      headers: {
        "connection": "keep-alive, x-a",
        "date": "Thu, 01 Jan 2026 00:00:00 GMT",
        "keep-alive": "timeout=5",
        "transfer-encoding": "chunked",
      },
    })
  );
  duplex.give(GET);
  await until(() => duplex.written.endsWith("\r\n\r\nx"), "the response");
  assert.deepEqual(duplex.written.split("\r\n"), [
    "HTTP/1.1 200 OK",
    "content-type: text/plain;charset=UTF-8",
    "date: Thu, 01 Jan 2026 00:00:00 GMT",
    "content-length: 1",
    "",
    "x",
  ]);
  await server.close();
});

Deno.test("the span of a request ends once, with the status, or without a status if the response was cut", async (t) => {
  const broken = () => {
    const duplex = createScriptedDuplex();
    duplex.breakWrites(new Error("reset"));
    return duplex;
  };
  const bytes = () =>
    new DirectResponse(new Uint8Array([104]), { status: 201, headers: [] });
  const stream = () => new Response(new Blob(["hello"]).stream());
  await steps(
    t,
    [
      ["bytes that are taken", bytes, createScriptedDuplex(), [201]],
      ["bytes that are not taken", bytes, broken(), [undefined]],
      ["a stream that is taken", stream, createScriptedDuplex(), [200]],
      ["a stream that is not taken", stream, broken(), [undefined]],
    ] as const,
    async ([, handle, duplex, ends]) => {
      const { server, spans } = open(handle, duplex);
      duplex.give(LAST);
      await within(duplex.closed, "the end");
      await until(() => spans.length > 0, "the end of the span");
      await server.close();
      assert.deepEqual(spans, ends);
    },
  );
});

Deno.test("requests on one socket are served in order, even when they arrive together", async () => {
  const { duplex, server, requests } = open(({ url }) => new Response(url));
  duplex.give(GET + post("xy") + LAST);
  await within(duplex.closed, "the end");
  assert.deepEqual(
    [...duplex.written.matchAll(/http:\/\/h\/\w/g)].map(String),
    ["http://h/a", "http://h/b", "http://h/a"],
  );
  assert.equal(requests.length, 3);
  await server.close();
});

Deno.test("one empty line before a request is skipped, and a second one is a fault", async () => {
  const { duplex, server, requests } = open(() => new Response("x"));
  for (const byte of post("xy") + "\r\n" + GET) duplex.give(byte);
  await until(
    () => duplex.written.split("HTTP/1.1 200").length === 3,
    "both responses",
  );
  duplex.give("\r\n\r\n" + GET);
  duplex.end();
  await within(duplex.closed, "the end");
  assert.deepEqual(
    requests.map(({ url, fault }) => [url, fault !== undefined]),
    [["http://h/b", false], ["http://h/a", false], ["http://localhost/", true]],
  );
  await server.close();
});

Deno.test("a response that arrives in parts is written in chunks as they arrive", async () => {
  const body = openBody();
  const { duplex, server } = open(() => new Response(body.stream));
  duplex.give(GET);
  assert.equal(
    await received(duplex, "\r\n\r\n"),
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
  );
  body.give("one");
  await received(duplex, "3\r\none\r\n");
  body.give("two");
  body.give("three");
  const text = await received(duplex, "three");
  assert.ok(text.endsWith("3\r\none\r\n8\r\ntwothree\r\n"), text);
  body.end();
  await received(duplex, "0\r\n\r\n");
  assert.equal(duplex.isClosed, false);
  await server.close();
});

Deno.test("HTTP/1.0 gets a body without chunks that ends with the socket", async () => {
  const body = openBody();
  const { duplex, server } = open(() => new Response(body.stream));
  duplex.give("GET /a HTTP/1.0\r\n\r\n");
  await received(duplex, "\r\n\r\n");
  body.give("one");
  body.end();
  await within(duplex.closed, "the end");
  assert.equal(
    withoutDates(duplex.written),
    "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\none",
  );
  await server.close();
});

Deno.test("a response that has no body, or answers HEAD, is written without a body", async () => {
  const body = openBody();
  const { duplex, server } = open(({ method }) =>
    method === "HEAD"
      ? new Response(body.stream)
      : new Response(null, { status: method === "GET" ? 204 : 200 })
  );
  duplex.give("HEAD /a HTTP/1.1\r\nhost: h\r\n\r\n" + GET + post(""));
  assert.equal(
    await received(duplex, "content-length"),
    "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 204 \r\n\r\n" +
      "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
  );
  await within(body.cancelled, "the cancellation");
  await server.close();
});

/** The ways to read a body. */
const READINGS: Readonly<
  Record<string, (request: IncomingRequest) => Promise<Uint8Array<ArrayBuffer>>>
> = {
  "whole": (request) => request.bytes(),
  "as a stream": ({ body }) => new Response(body).bytes(),
  "by its reader": async (request) => {
    const reader = request.openBody?.();
    assert.ok(reader);
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return joinBytes(chunks);
      // The next read may overwrite it.
      chunks.push(value.slice());
    }
  },
};

const BODIES: Readonly<Record<string, readonly string[]>> = {
  "with a length": [post("hello world")],
  "with a length, in pieces": [...post("hello world")],
  "in chunks": [chunked("5\r\nhello\r\n", "6;x=y\r\n world\r\n", "0\r\n\r\n")],
  "in chunks and pieces, with a trailer": [
    ...chunked("5\r\nhello\r\n", "6\r\n world\r\n", "0\r\nx: y\r\n\r\n"),
  ],
};

Deno.test("a body is read whole or as a stream, and the next request follows it", async (t) => {
  for (const [name, pieces] of Object.entries(BODIES)) {
    for (const [way, read] of Object.entries(READINGS)) {
      await t.step(`${name}, ${way}`, async () => {
        const { duplex, server } = open(async (request) =>
          new Response(await read(request))
        );
        duplex.give(...pieces);
        await received(duplex, "content-length: 11\r\n\r\nhello world");
        duplex.give(LAST);
        await within(duplex.closed, "the end");
        await server.close();
      });
    }
  }
});

Deno.test("a body of many reads does not contain the bytes after it", async (t) => {
  const long = "x".repeat(300_000);
  await steps(t, Object.entries(READINGS), async ([, read]) => {
    const { duplex, server } = open(async (request) =>
      new Response(String(byteText(await read(request)) === long))
    );
    for (let at = 0; at < 3; at++) duplex.give(post(long));
    duplex.give(LAST);
    await within(duplex.closed, "the end");
    assert.equal(duplex.written.match(/\r\n\r\ntrue/g)?.length, 3);
    await server.close();
  });
});

Deno.test("a body that is read once through openBody() reuses the same memory", async () => {
  for (const text of [post("x".repeat(3e6)), chunkedBody(3e6)]) {
    const duplex = createScriptedDuplex();
    const { read } = duplex;
    const memory = new Set<ArrayBufferLike>();
    duplex.read = (into) => {
      memory.add(into.buffer);
      return read(into);
    };
    const { server } = open(async (request) => {
      const reader = request.openBody?.();
      while (reader && !(await reader.read()).done);
      return new Response("read");
    }, duplex);
    duplex.give(text, LAST);
    await within(duplex.closed, "the end");
    const bytes = [...memory].reduce((sum, one) => sum + one.byteLength, 0);
    assert.ok(memory.size > 1);
    assert.ok(bytes < 500_000, `${bytes} bytes in ${memory.size} arrays`);
    await server.close();
  }
});

function chunkedBody(bytes: number): string {
  const chunk = `2710\r\n${"x".repeat(10_000)}\r\n`;
  return chunked(chunk.repeat(bytes / 10_000), "0\r\n\r\n");
}

Deno.test("the bytes that are read ahead after a request are bounded", async () => {
  const body = openBody();
  const { duplex, server, requests } = open(() => new Response(body.stream));
  duplex.give(GET);
  for (let at = 0; at < 100; at++) duplex.give("x".repeat(10_000));
  await until(() => requests.length === 1, "the request");
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  assert.ok(duplex.unread > 800_000, `${duplex.unread}`);
  body.fail();
  await within(duplex.closed, "the end");
  await server.close();
});

Deno.test("a body that is always ready is written in parts", async () => {
  let left = 100;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(10_000));
      else controller.close();
    },
  }, { highWaterMark: 0 });
  const { duplex, server } = open(() => new Response(body));
  duplex.give(LAST);
  await within(duplex.closed, "the end");
  const chunks = duplex.written.match(/\r\n[0-9a-f]+\r\n\0/g) ?? [];
  assert.ok(chunks.length >= 10, `${chunks.length} chunks`);
  assert.ok(duplex.written.endsWith("\r\n0\r\n\r\n"));
  await server.close();
});

for (const way of ["whole", "as a stream"]) {
  Deno.test(`a caller who waits for a 100 gets it once, when its body is read ${way}`, async () => {
    const go = Promise.withResolvers<void>();
    const { duplex, server } = open(async (request) => {
      const stream = way === "whole" ? undefined : request.body;
      await go.promise;
      return new Response(stream ?? await request.bytes());
    });
    const [head = "", body = ""] = post("hello", "expect: 100-continue")
      .split(/(?<=\r\n\r\n)/);
    duplex.give(head);
    await nextTurn();
    assert.equal(duplex.written, "");
    go.resolve();
    await received(duplex, "HTTP/1.1 100 Continue\r\n\r\n");
    duplex.give(body);
    const text = await received(duplex, "hello");
    assert.equal(text.match(/100 Continue/g)?.length, 1);
    await server.close();
  });
}

Deno.test("a caller who waits for a 100 and gets a final response cannot send a second request", async () => {
  const { duplex, server } = open(() => new Response("no", { status: 413 }));
  duplex.give(
    "POST /b HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n",
  );
  const text = await received(duplex, "no");
  assert.match(text, /^HTTP\/1\.1 413 .*connection: close/s);
  duplex.end();
  await within(duplex.closed, "the end");
  await server.close();
});

/** Requests whose body has arrived, by its length and framing. */
const LEAVERS: Readonly<Record<string, string>> = {
  "without a body": GET,
  "with a short body": post("x"),
  "with a long body": post("x".repeat(200_000)),
  "with a chunked body": chunked("5\r\nhello\r\n0\r\n\r\n"),
};

Deno.test("a caller who leaves aborts the request's signal before the response has begun", async (t) => {
  for (const [name, request] of Object.entries(LEAVERS)) {
    for (const way of ["end", "reset"]) {
      await t.step(`${name}, ${way}`, async () => {
        const left = Promise.withResolvers<Response>();
        const { duplex, server, requests } = open(async (request) => {
          await request.bytes();
          const leave = () => left.resolve(new Response("late"));
          request.signal.addEventListener("abort", leave);
          return await left.promise;
        });
        duplex.give(...request.match(/[^]{1,20000}/g) ?? []);
        await until(() => requests.length === 1, "the request");
        await nextTurn();
        if (way === "end") duplex.end();
        else duplex.breakReads(new Error("reset"));
        await within(left.promise, "the signal");
        await within(duplex.closed, "the end");
        assert.equal(requests[0]?.signal.aborted, true);
        await server.close();
      });
    }
  }
});

Deno.test("a caller who leaves during a silent response cancels its body", async () => {
  const body = openBody();
  const { duplex, server, requests } = open(() => new Response(body.stream));
  duplex.give(GET);
  await received(duplex, "chunked");
  duplex.end();
  await within(body.cancelled, "the cancellation");
  await within(duplex.closed, "the end");
  assert.equal(requests[0]?.signal.aborted, true);
  await server.close();
});

Deno.test("a caller who leaves without taking a byte cancels the body of the response", async () => {
  const body = openBody();
  const { duplex, server } = open(
    () => new Response(body.stream),
    createScriptedDuplex({ takes: 10 }),
  );
  duplex.give(GET);
  body.give("one");
  await until(() => duplex.written.length === 10, "the beginning");
  duplex.end();
  await within(body.cancelled, "the cancellation");
  await server.close();
});

Deno.test("a caller who takes no byte of a stream for ten minutes is cut off, and the stream ends as stalled", async () => {
  const timers = createFakeTimers();
  const ends: string[] = [];
  const source = openBody();
  const { duplex, server } = open(
    () =>
      new DirectResponse(
        new PassThrough(source.stream.getReader(), {
          deadlines: createDeadlines(timers),
          onChunk: () => {},
          onEnd: ({ kind }) => ends.push(kind),
        }),
        { headers: [] },
      ),
    createScriptedDuplex({ takes: 10 }),
    timers,
  );
  source.give("one");
  duplex.give(GET);
  await until(() => duplex.written.length === 10, "the beginning");
  source.give("two");
  await nextTurn();
  timers.advance(STALL_MS - 1);
  assert.equal(duplex.isClosed, false);
  timers.advance(1);
  await within(duplex.closed, "the end");
  assert.deepEqual(ends, ["stalled"]);
  await server.close();
});

Deno.test("a caller who takes part of a stream is not cut off", async () => {
  const timers = createFakeTimers();
  const ends: string[] = [];
  const source = openBody();
  const { duplex, server } = open(
    () =>
      new DirectResponse(
        new PassThrough(source.stream.getReader(), {
          deadlines: createDeadlines(timers),
          isAwaited: () => true,
          onChunk: () => {},
          onEnd: ({ kind }) => ends.push(kind),
        }),
        { headers: [] },
      ),
    createScriptedDuplex({ takes: 10 }),
    timers,
  );
  source.give("x".repeat(200));
  duplex.give(GET);
  await until(() => duplex.written.length === 10, "the first part");
  source.give("two");
  await nextTurn();
  for (let count = 2; count < 8; count++) {
    timers.advance(50_000);
    duplex.limit(10);
    const bytes = 10 * count;
    await until(() => duplex.written.length === bytes, "the next part");
  }
  assert.deepEqual(ends, []);
  timers.advance(60_000);
  await within(duplex.closed, "the end");
  assert.deepEqual(ends, ["stalled"]);
  await server.close();
});

Deno.test("a caller who takes no byte of a complete response for eleven minutes is cut off", async () => {
  const { duplex, server, timers } = open(
    () => new Response("hello"),
    createScriptedDuplex({ takes: 10 }),
  );
  duplex.give(GET);
  await until(() => duplex.written.length === 10, "the beginning");
  await nextTurn();
  timers.advance(659_999);
  assert.equal(duplex.isClosed, false);
  timers.advance(1);
  await within(duplex.closed, "the end");
  assert.equal(timers.running, 0);
  await server.close();
});

Deno.test("the signal of a request does not abort after its response", async () => {
  const { duplex, server, requests } = open(() => new Response("x"));
  duplex.give(GET);
  await received(duplex, "x");
  const signal = requests[0]?.signal;
  duplex.end();
  await within(duplex.closed, "the end");
  assert.equal(signal?.aborted, false);
  await server.close();
});

Deno.test("reading a body fails when the caller leaves within it", async () => {
  const failed = Promise.withResolvers<unknown>();
  const { duplex, server } = open(async (request) => {
    await request.bytes().catch(failed.resolve);
    return new Response("late");
  });
  duplex.give(post("hello").slice(0, -1));
  await nextTurn();
  duplex.end();
  assert.match(String(await within(failed.promise, "the failure")), /closed/);
  await within(duplex.closed, "the end");
  await server.close();
});

Deno.test("cancelling a reader of a body ends its read at once, and the rest of the body is dropped", async () => {
  const { duplex, server } = open(async (request) => {
    if (request.method === "GET") return new Response("second");
    const reader = request.openBody?.();
    const reading = reader?.read();
    await reader?.cancel();
    return new Response(`done: ${(await reading)?.done}`);
  });
  duplex.give(post("hello").slice(0, -5));
  await received(duplex, "done: true");
  duplex.give("hello" + LAST);
  await within(duplex.closed, "the end");
  assert.match(duplex.written, /second$/);
  await server.close();
});

Deno.test("reading malformed chunks fails, and the socket closes after the response", async () => {
  const { duplex, server, requests } = open(async (request) => {
    const why = await request.bytes().then(() => "none", String);
    return new Response(why, { status: 400, headers: { connection: "close" } });
  });
  duplex.give(chunked("x\r\n") + GET);
  const text = await received(duplex, "malformed");
  assert.match(text, /connection: close/);
  duplex.end();
  await within(duplex.closed, "the end");
  assert.equal(requests.length, 1);
  await server.close();
});

Deno.test("a malformed head reaches the handler as a fault, and no request after it is served", async () => {
  const { duplex, server, requests } = open(({ fault }) =>
    new Response(fault ?? "", { status: 400 })
  );
  duplex.give("GET /a HTTP/1.1\r\nhost: h\r\nhost: i\r\n\r\n" + GET);
  await received(duplex, "it has several host headers");
  duplex.end();
  await within(duplex.closed, "the end");
  assert.equal(requests.length, 1);
  await server.close();
});

Deno.test("a response whose body fails is cut after the bytes before the failure", async () => {
  const body = openBody();
  const { duplex, server } = open(() => new Response(body.stream));
  duplex.give(GET);
  body.give("one");
  await received(duplex, "one");
  body.fail();
  await within(duplex.closed, "the cut");
  assert.ok(duplex.written.endsWith("3\r\none\r\n"), duplex.written);
  await server.close();
});

Deno.test("a response that is shorter than its content-length is cut", async () => {
  const headers = { "content-length": "9" };
  const { duplex, server } = open(() => new Response("short", { headers }));
  duplex.give(GET);
  await within(duplex.closed, "the cut");
  assert.ok(duplex.written.endsWith("\r\n\r\nshort"), duplex.written);
  await server.close();
});

Deno.test("a slow caller slows the reading of the response's body", async () => {
  const body = openBody();
  const { duplex, server } = open(
    () => new Response(body.stream),
    createScriptedDuplex({ takes: 10 }),
  );
  duplex.give(GET);
  await nextTurn();
  const before = body.pulls();
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  assert.equal(body.pulls(), before);
  duplex.limit(Infinity);
  body.give("one");
  body.end();
  await received(duplex, "one");
  await server.close();
});

Deno.test("the unread rest of a body is dropped before the next request", async () => {
  const { duplex, server } = open(({ url }) => new Response(url));
  const [head = "", rest = ""] = post("x".repeat(100_000)).split(/(?<=x{10})/);
  duplex.give(head);
  await received(duplex, "http://h/b");
  duplex.give(rest + "x".repeat(100_000 - 10 - rest.length) + LAST);
  await received(duplex, "http://h/a");
  await within(duplex.closed, "the end");
  await server.close();
});

Deno.test("the socket closes if the rest of a body does not arrive within 10 seconds", async () => {
  const { duplex, server, timers } = open(({ url }) => new Response(url));
  duplex.give(post("hello").slice(0, -1));
  await received(duplex, "http://h/b");
  await nextTurn();
  timers.advance(9_999);
  assert.equal(duplex.isClosed, false);
  timers.advance(1);
  await within(duplex.closed, "the end");
  await server.close();
});

Deno.test("a caller that goes on sending gets its last response before the socket closes", async () => {
  const headers = { connection: "close" };
  const { duplex, server, timers } = open(() =>
    new Response("no", { status: 413, headers })
  );
  duplex.give(post("hello").slice(0, -1));
  await received(duplex, "no");
  await nextTurn();
  assert.equal(duplex.isClosed, false);
  timers.advance(2_000);
  await within(duplex.closed, "the end");
  await server.close();
});

Deno.test("the socket closes after two seconds even if ending its writes never completes", async () => {
  const headers = { connection: "close" };
  const never = Promise.withResolvers<void>().promise;
  const { duplex, server, timers } = open(
    () => new Response("no", { status: 413, headers }),
    Object.assign(createScriptedDuplex(), { closeWrite: () => never }),
  );
  duplex.give(post("hello").slice(0, -1));
  await received(duplex, "no");
  await nextTurn();
  timers.advance(2_000);
  await within(duplex.closed, "the end");
  await server.close();
});

Deno.test("an incomplete head takes at most twice its bytes of memory", async () => {
  const duplex = createScriptedDuplex();
  const { read } = duplex;
  let keptBytes = 0;
  duplex.read = (into) => {
    keptBytes = into.buffer.byteLength;
    return read(into);
  };
  const { server } = open(() => new Response(), duplex);
  let sent = "GET /a HTTP/1.1\r\na: ";
  duplex.give(sent);
  for (const bytes of [4096, 8192, 16_384]) {
    const more = "x".repeat(bytes - sent.length);
    duplex.give(more);
    sent += more;
    await until(() => duplex.unread === 0, "its reading");
    await nextTurn();
    assert.equal(keptBytes, 2 * bytes);
  }
  void server.close();
  duplex.close();
});

Deno.test("a socket closes 30 seconds after the first byte of an incomplete head, or after its opening without a first request", async (t) => {
  for (const begun of ["", "GET /a HTT", GET + "GET /a HTT"]) {
    await t.step(`after "${begun}"`, async () => {
      const { duplex, server, timers } = open(() => new Response("x"));
      duplex.give(begun);
      for (let turn = 0; turn < 5; turn++) await nextTurn();
      timers.advance(29_999);
      assert.equal(duplex.isClosed, false);
      timers.advance(1);
      assert.equal(duplex.isClosed, true);
      await server.close();
    });
  }
});

Deno.test("a socket may be idle between two requests without a limit, and has no timer then", async () => {
  const { duplex, server, timers } = open(() => new Response("x"));
  duplex.give(GET);
  await received(duplex, "x");
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  assert.equal(timers.running, 0);
  timers.advance(3_600_000);
  assert.equal(duplex.isClosed, false);
  await server.close();
});

Deno.test("closeIdle() closes only the sockets that have been idle for long", async () => {
  const busy = createScriptedDuplex();
  const body = openBody();
  const { duplex, server, timers } = open(({ url }) =>
    new Response(url.endsWith("/b") ? body.stream : "x")
  );
  server.serve(busy);
  busy.give(post("x"));
  await received(busy, "chunked");
  timers.advance(500);
  duplex.give(GET);
  await received(duplex, "\r\n\r\nx");
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  timers.advance(999);
  server.closeIdle(1_000);
  assert.equal(duplex.isClosed, false);
  timers.advance(1);
  server.closeIdle(1_000);
  assert.equal(duplex.isClosed, true);
  assert.equal(busy.isClosed, false);
  body.end();
  await server.close();
});

Deno.test("closeIdle() spares a request that has begun to arrive, and a caller who still takes a response", async () => {
  const begun = createScriptedDuplex();
  const headers = { connection: "close" };
  const go = Promise.withResolvers<void>();
  const { duplex, server, timers } = open(async () => {
    await go.promise;
    return new Response("no", { status: 413, headers });
  });
  server.serve(begun);
  duplex.give(post("hello").slice(0, -1));
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  timers.advance(5_000);
  begun.give("GET /a HTT");
  go.resolve();
  await received(duplex, "no");
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  server.closeIdle(1_000);
  assert.deepEqual([begun.isClosed, duplex.isClosed], [false, false]);
  begun.close();
  duplex.end();
  await server.close();
});

Deno.test("close() ends idle sockets at once, and others after their response", async () => {
  const idle = createScriptedDuplex();
  const body = openBody();
  const { duplex, server } = open(() => new Response(body.stream));
  server.serve(idle);
  duplex.give(GET);
  await received(duplex, "chunked");
  const closed = server.close();
  assert.equal(idle.isClosed, true);
  assert.equal(duplex.isClosed, false);
  body.give("one");
  body.end();
  await within(closed, "the end");
  assert.ok(duplex.written.endsWith("0\r\n\r\n"), duplex.written);
});
