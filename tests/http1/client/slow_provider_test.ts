import { callUpstream } from "../../../src/gateway/upstream/call.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import {
  createByteReader,
  readAll,
} from "../../../src/base/streams/byte_reader.ts";
import {
  IdleError,
  WatchedReader,
} from "../../../src/base/streams/watched_reader.ts";
import { UpstreamCallError } from "../../../src/gateway/upstream/failure.ts";
import { nextTurn } from "../../support/settle.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";
import { type ClientScene, createClientScene } from "./scripted_dial.ts";
import { steps } from "../../support/steps.ts";

// A provider that trickles bytes must not hold a request longer than a timeout, nor cost more than its bytes.
// tests/http1/deno/silent_tls_test.ts tests the connect timeout.

const CONNECT_MS = 1000;
const FIRST_BYTE_MS = 20_000;
const IDLE_MS = 10_000;

/** The time between two bytes, in milliseconds. */
const PACE_MS = 1000;

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/** A request to a provider that the test plays. */
interface Slow extends Disposable {
  readonly scene: ClientScene;
  readonly duplex: ScriptedDuplex;
  /** The response, as the relay waits for it. */
  readonly answer: ReturnType<typeof callUpstream>;
  /** The client's own failure, whose progress decides about the next attempt. */
  readonly failure: Promise<unknown>;
  /** Aborts the exchange. */
  readonly controller: AbortController;
}

function ask(duplex: ScriptedDuplex = createScriptedDuplex()): Slow {
  const scene = createClientScene({ open: () => duplex });
  const controller = new AbortController();
  const failure = Promise.withResolvers<unknown>();
  const answer = callUpstream({
    send(request) {
      const sent = scene.client.send(request);
      sent.catch(failure.resolve);
      return sent;
    },
  }, {
    url: "http://provider.example/v1",
    headers: [],
    body: new Uint8Array(100),
    deadlines: createDeadlines(scene.timers),
    connectMs: CONNECT_MS,
    firstByteMs: FIRST_BYTE_MS,
    controller,
  });
  answer.catch(() => {});
  return {
    scene,
    duplex,
    answer,
    failure: failure.promise,
    controller,
    [Symbol.dispose]: () => scene[Symbol.dispose](),
  };
}

/** Sends a text byte by byte; returns the time that passed when the connection was closed, in milliseconds. */
async function trickle(
  { scene: { timers }, duplex }: Slow,
  text: Iterable<string>,
): Promise<number> {
  const beganMs = timers.elapsedMs();
  for (const byte of text) {
    duplex.give(byte);
    await nextTurn();
    if (duplex.isClosed) break;
    timers.advance(PACE_MS);
    await nextTurn();
  }
  return timers.elapsedMs() - beganMs;
}

Deno.test("a head that arrives too slowly ends with the first-byte timeout", async (t) => {
  const texts: Readonly<Record<string, Iterable<string>>> = {
    "nothing": new Array<string>(100).fill(""),
    "a status line": `HTTP/1.1 200 ${"x".repeat(100)}`,
    "a field": `HTTP/1.1 200 OK\r\na: ${"x".repeat(100)}`,
    "many fields": `HTTP/1.1 200 OK\r\n${"a:b\r\n".repeat(30)}`,
    "interim responses": "HTTP/1.1 100 x\r\n\r\n".repeat(8),
  };
  await steps(t, Object.entries(texts), async ([name, text]) => {
    using slow = ask();
    await nextTurn();
    assert.equal(await trickle(slow, text), FIRST_BYTE_MS);
    await assert.rejects(
      within(slow.answer, "the failure"),
      (error) =>
        error instanceof UpstreamCallError && error.failureKind === "silent",
    );
    const failure = await slow.failure;
    assert.ok(failure instanceof Http1Failure);
    assert.deepEqual(failure.progress, {
      sent: "all",
      hasAnswer: name !== "nothing",
      isReused: false,
    });
    assertClosed(slow);
  });
});

/** Checks that an exchange has left no timer and no open connection. */
function assertClosed({ duplex, scene: { timers, opened } }: Slow): void {
  assert.ok(duplex.isClosed);
  assert.equal(timers.running, 0);
  assert.equal(opened.length, 1);
}

Deno.test("a request that its provider takes byte by byte, or not at all, ends with the first-byte timeout", async (t) => {
  for (const bytes of [0, 1]) {
    await t.step(`${bytes} a second`, async () => {
      using slow = ask(createScriptedDuplex({ takes: 0 }));
      const { duplex, scene: { timers } } = slow;
      await nextTurn();
      while (!duplex.isClosed) {
        duplex.limit(bytes);
        await nextTurn();
        timers.advance(PACE_MS);
        await nextTurn();
      }
      assert.equal(timers.elapsedMs(), FIRST_BYTE_MS);
      await assert.rejects(slow.answer, UpstreamCallError);
      const failure = await slow.failure;
      assert.ok(failure instanceof Http1Failure);
      assert.equal(failure.progress.sent, bytes === 0 ? "nothing" : "part");
      assertClosed(slow);
    });
  }
});

Deno.test("the ninth interim response of a provider ends the request at once", async () => {
  using slow = ask();
  await nextTurn();
  slow.duplex.give("HTTP/1.1 100 x\r\n\r\n".repeat(9));
  await assert.rejects(
    slow.answer,
    (error) =>
      error instanceof UpstreamCallError && error.failureKind === "broken",
  );
  assertClosed(slow);
});

Deno.test("a request ends at once when its provider closes one direction before the response", async (t) => {
  for (const takes of [0, 50, Infinity]) {
    await t.step(`${takes} bytes were taken`, async () => {
      using slow = ask(createScriptedDuplex({ takes }));
      await nextTurn();
      slow.duplex.end();
      await assert.rejects(
        within(slow.answer, "the failure"),
        (error) =>
          error instanceof UpstreamCallError &&
          error.failureKind === "unreachable",
      );
      assertClosed(slow);
    });
  }
});

/** Begins to read a body as the relay does. */
function readBody(slow: Slow, body: Parameters<typeof createByteReader>[0]) {
  return new WatchedReader(createByteReader(body), {
    deadlines: createDeadlines(slow.scene.timers),
    idleMs: IDLE_MS,
    signal: slow.controller.signal,
  });
}

Deno.test("a body of bytes without payload ends with the idle timeout, however many arrive", async (t) => {
  const texts: Readonly<Record<string, Iterable<string>>> = {
    "nothing": new Array<string>(100).fill(""),
    "the size of a chunk": "0000000000005",
    "an extension": `5;${"x".repeat(100)}`,
    "spaces behind a size": `5${" ".repeat(100)}`,
    "a trailer": `0\r\na: ${"x".repeat(100)}`,
    "many trailers": `0\r\n${"a:b\r\n".repeat(30)}`,
  };
  await steps(t, Object.entries(texts), async ([, text]) => {
    using slow = ask();
    await nextTurn();
    slow.duplex.give(`${CHUNKED}5\r\nhello\r\n`);
    const { body } = await within(slow.answer, "the head");
    assert.ok(body);
    const reader = readBody(slow, body);
    assert.equal((await reader.read()).value?.length, 5);
    const failing = assert.rejects(reader.read(), IdleError);
    assert.equal(await trickle(slow, text), IDLE_MS);
    await within(failing, "the failure");
    assertClosed(slow);
  });
});

Deno.test("a body that arrives byte by byte has no timeout, and its caller's disconnect closes the connection", async (t) => {
  const bodies = {
    "with a length": ["HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", "x"],
    "in chunks": [CHUNKED, "1\r\nx\r\n"],
    "until the close": ["HTTP/1.1 200 OK\r\n\r\n", "x"],
  } as const;
  await steps(t, Object.entries(bodies), async ([, [head, piece]]) => {
    using slow = ask();
    const { duplex, scene: { timers }, controller } = slow;
    await nextTurn();
    duplex.give(head);
    const { body } = await within(slow.answer, "the head");
    assert.ok(body);
    const reader = readBody(slow, body);
    for (let count = 0; count < 100; count++) {
      timers.advance(IDLE_MS - 1);
      const reading = reader.read();
      duplex.give(piece);
      assert.equal((await within(reading, "a byte")).value?.length, 1);
    }
    controller.abort(new Error("gone"));
    await assert.rejects(reader.read(), /gone/);
    assertClosed(slow);
  });
});

Deno.test("a response that arrives byte by byte is read in linear time", async (t) => {
  const long = "x".repeat(60_000);
  const trailers = "a: b\r\n".repeat(2000);
  const texts = {
    "a head": `HTTP/1.1 200 OK\r\na: ${long}\r\ncontent-length: 1\r\n\r\nx`,
    "chunks": `${CHUNKED}${"1\r\nx\r\n".repeat(10_000)}0\r\n\r\n`,
    "extensions": `${CHUNKED}${
      `1;${"x".repeat(4000)}\r\nx\r\n`.repeat(15)
    }0\r\n\r\n`,
    "trailers": `${CHUNKED}1\r\nx\r\n0\r\n${trailers}\r\n`,
  };
  await steps(t, Object.entries(texts), async ([, text]) => {
    let at = 0;
    let largest = 0;
    const duplex: ScriptedDuplex = {
      ...createScriptedDuplex(),
      read(into) {
        largest = Math.max(largest, into.buffer.byteLength);
        if (at === text.length) return new Promise(() => {});
        into[0] = text.charCodeAt(at++);
        return Promise.resolve(1);
      },
    };
    using slow = ask(duplex);
    // An algorithm of quadratic time takes minutes here.
    const { body } = await within(slow.answer, "the head");
    assert.ok(body);
    const bytes = await within(readAll(createByteReader(body), 1e6), "it");
    assert.ok(bytes && bytes.length > 0);
    assert.equal(at, text.length);
    assert.ok(largest <= 128 * 1024, `${largest} bytes`);
  });
});
