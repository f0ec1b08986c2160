import { Socket } from "../../../src/http1/client/socket.ts";
import { Http1Failure, type Progress } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { readAll } from "../../../src/base/streams/byte_reader.ts";
import { nextTurn } from "../../support/settle.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

type Http1FailureKind = Http1Failure["kind"];

// The reported progress decides whether a request is sent again, so it must never be less than the real one.

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** How an exchange breaks, and the expected failure. */
interface Scene {
  readonly takes?: number;
  readonly fail: (duplex: ScriptedDuplex) => void;
  readonly kind?: Http1FailureKind;
  readonly sent: Progress["sent"];
  readonly hasAnswer?: boolean;
}

const RESET = new Error("Connection reset by peer (os error 104)");

const SCENES: Readonly<Record<string, Scene>> = {
  "it ends before it takes a byte": {
    takes: 0,
    fail: (duplex) => duplex.end(),
    sent: "nothing",
  },
  "it breaks before it takes a byte": {
    takes: 0,
    fail: (duplex) => {
      duplex.breakReads(RESET);
      duplex.breakWrites(RESET);
    },
    sent: "nothing",
  },
  "it ends after one byte": {
    takes: 1,
    fail: (duplex) => duplex.end(),
    sent: "part",
  },
  "it breaks in the middle of the request": {
    takes: 50,
    fail: (duplex) => {
      duplex.breakWrites(RESET);
      duplex.breakReads(RESET);
    },
    sent: "part",
  },
  "it ends after the whole request": {
    fail: (duplex) => duplex.end(),
    sent: "all",
  },
  "it ends in the head of the response": {
    fail: (duplex) => {
      duplex.give("HTTP/1.1 200");
      duplex.end();
    },
    sent: "all",
    hasAnswer: true,
  },
  "it ends after an interim response": {
    fail: (duplex) => {
      duplex.give("HTTP/1.1 100 Continue\r\n\r\n");
      duplex.end();
    },
    sent: "all",
    hasAnswer: true,
  },
  "it ends in the body of the response": {
    fail: (duplex) => {
      duplex.give(OK.slice(0, -1));
      duplex.end();
    },
    sent: "all",
    hasAnswer: true,
  },
  "it breaks in the body of the response": {
    fail: (duplex) => {
      duplex.give(OK.slice(0, -1));
      duplex.breakReads(RESET);
    },
    sent: "all",
    hasAnswer: true,
  },
  "it ends in the body of an early response": {
    takes: 50,
    fail: (duplex) => {
      duplex.give(OK.slice(0, -1));
      duplex.end();
    },
    sent: "part",
    hasAnswer: true,
  },
  "its response is malformed": {
    fail: (duplex) => duplex.give("SSH-2.0\r\n"),
    kind: "malformed",
    sent: "all",
    hasAnswer: true,
  },
  "the body of its response is malformed": {
    fail: (duplex) =>
      duplex.give("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n"),
    kind: "malformed",
    sent: "all",
    hasAnswer: true,
  },
};

/** Sends a request of some 100 bytes, and reads the whole response. */
async function exchange(socket: Socket): Promise<void> {
  const { body } = await socket.send({
    method: "POST",
    target: "/v1",
    host: "a",
    headers: [],
    body: new Uint8Array(50),
    signal: new AbortController().signal,
  });
  if (body !== null) await readAll(body, 1e6);
}

async function failureOf(socket: Socket): Promise<Http1Failure> {
  const failure = await within(exchange(socket), "the end").then(
    () => undefined,
    (cause) => cause,
  );
  assert.ok(failure instanceof Http1Failure, String(failure));
  return failure;
}

Deno.test("a failure reports the progress of the exchange", async (t) => {
  for (const [name, scene] of Object.entries(SCENES)) {
    for (const isReused of [false, true]) {
      await t.step(`${name}, ${isReused ? "reused" : "fresh"}`, async () => {
        const { fail, takes = Infinity, kind = "closed", sent } = scene;
        const duplex = createScriptedDuplex();
        const idle = Promise.withResolvers<Socket>();
        const socket = new Socket(duplex, idle.resolve);
        if (isReused) {
          duplex.give(OK);
          await exchange(socket);
          await within(idle.promise, "the connection to be idle");
        }
        duplex.limit(takes);
        const failing = failureOf(socket);
        await nextTurn();
        fail(duplex);
        const failure = await failing;
        const { hasAnswer = false } = scene;
        assert.equal(failure.kind, kind);
        assert.deepEqual(failure.progress, { sent, hasAnswer, isReused });
        assert.ok(duplex.isClosed);
      });
    }
  }
});

Deno.test("bytes count as sent even if their write is reported after the end of the connection", async (t) => {
  const ways = {
    "once the connection is closed": (duplex: ScriptedDuplex) => duplex.closed,
    "never": () => new Promise<void>(() => {}),
  };
  await steps(t, Object.entries(ways), async ([, reported]) => {
    const inner = createScriptedDuplex();
    const socket = new Socket({
      read: inner.read,
      close: inner.close,
      async write(bytes) {
        const count = await inner.write(bytes);
        await reported(inner);
        return count;
      },
    }, () => assert.fail("It is idle"));
    const failing = failureOf(socket);
    await nextTurn();
    inner.end();
    assert.notEqual((await failing).progress.sent, "nothing");
  });
});

Deno.test("a write that takes no bytes fails instead of being repeated", async () => {
  const inner = createScriptedDuplex();
  const socket = new Socket({
    read: inner.read,
    close: inner.close,
    write: () => Promise.resolve(0),
  }, () => assert.fail("It is idle"));
  const failing = failureOf(socket);
  await nextTurn();
  inner.end();
  assert.equal((await failing).progress.sent, "nothing");
});

Deno.test("a failure has the cause of the first error", async () => {
  const duplex = createScriptedDuplex({ takes: 10 });
  const socket = new Socket(duplex, () => assert.fail("It is idle"));
  const failing = failureOf(socket);
  await nextTurn();
  duplex.breakWrites(RESET);
  await nextTurn();
  duplex.end();
  const { cause, message } = await failing;
  assert.equal(cause, RESET);
  assert.equal(message, "it closed the connection");
});
