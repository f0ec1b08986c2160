import { Socket } from "../../../src/http1/client/socket.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { readAll, WholeBody } from "../../../src/base/streams/byte_reader.ts";
import { LongBytes } from "../../../src/base/streams/bytes.ts";
import { nextTurn } from "../../support/settle.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

type IncomingResponse = Awaited<ReturnType<Socket["send"]>>;

type OutgoingRequest = Parameters<Socket["send"]>[0];

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A connection and its visible state. */
interface Scene {
  readonly duplex: ScriptedDuplex;
  readonly socket: Socket;
  /** Returns the number of times that it became idle. */
  readonly idle: () => number;
  send(request?: Partial<OutgoingRequest>): Promise<IncomingResponse>;
}

function open(duplex: ScriptedDuplex = createScriptedDuplex()): Scene {
  let idle = 0;
  const socket = new Socket(duplex, () => idle++);
  return {
    duplex,
    socket,
    idle: () => idle,
    send: (request) =>
      within(
        socket.send({
          method: "POST",
          target: "/v1",
          host: "a",
          headers: [],
          body: new Uint8Array(3),
          signal: new AbortController().signal,
          ...request,
        }),
        "the response",
      ),
  };
}

async function textOf({ body }: IncomingResponse): Promise<string> {
  if (body === null) return "";
  const bytes = await within(readAll(body, 1e6), "the body");
  return new TextDecoder("latin1").decode(bytes);
}

async function failureOf(work: Promise<unknown>): Promise<Http1Failure> {
  const failure = await work.then(() => undefined, (cause) => cause);
  assert.ok(failure instanceof Http1Failure, String(failure));
  return failure;
}

Deno.test("a request is written unchanged, with a body of any kind", async () => {
  const pieces = [1000, 200_000, 7].map((size) => new Uint8Array(size));
  const bodies = [undefined, new Uint8Array(), new LongBytes(pieces)];
  for (const body of bodies) {
    const { duplex, send } = open();
    duplex.give(OK);
    await send({ body });
    await nextTurn();
    const length = body && `content-length: ${body.length}\r\n`;
    const head = `POST /v1 HTTP/1.1\r\nhost: a\r\n${length ?? ""}\r\n`;
    assert.equal(duplex.written, head + "\x00".repeat(body?.length ?? 0));
  }
});

Deno.test("each character of a header is written as one byte", async () => {
  for (const value of ["a", "\xe9", "\xe9".repeat(5000)]) {
    const { duplex, send } = open();
    duplex.give(OK);
    await send({ headers: [["a", value]], body: new Uint8Array(3).fill(120) });
    await nextTurn();
    assert.equal(
      duplex.written,
      `POST /v1 HTTP/1.1\r\nhost: a\r\na: ${value}\r\ncontent-length: 3\r\n\r\nxxx`,
    );
  }
});

Deno.test("a connection is closed after a response whose end is in doubt", async (t) => {
  const doubts: Readonly<Record<string, string>> = {
    "close": OK.replace("\r\n", "\r\nconnection: close\r\n"),
    "HTTP/1.0": OK.replace("1.1", "1.0"),
    "a byte after the body": `${OK}\n`,
    "another response after it": OK + OK,
    "a body after a bodiless response":
      "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok",
  };
  await steps(t, Object.entries(doubts), async ([, text]) => {
    const { duplex, send, idle } = open();
    duplex.give(text);
    await textOf(await send());
    await within(duplex.closed, "the close");
    assert.equal(idle(), 0);
  });
});

Deno.test("a response without a body is complete with its head", async () => {
  for (const status of [204, 304]) {
    const { duplex, send, idle } = open();
    duplex.give(`HTTP/1.1 ${status} x\r\n\r\n`);
    assert.equal((await send()).body, null);
    await nextTurn();
    assert.equal(idle(), 1);
  }
});

Deno.test("a body that arrives completely with its head frees the connection at once", async () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n";
  const cases = [
    [[`${head}abc`], true],
    [[head, "abc"], false],
    [[`${head}ab`, "c"], false],
  ] as const;
  for (const [pieces, isWhole] of cases) {
    const { duplex, send, idle } = open();
    duplex.give(...pieces);
    const response = await send();
    await nextTurn();
    assert.equal(response.body instanceof WholeBody, isWhole);
    assert.equal(idle(), isWhole ? 1 : 0);
    assert.equal(await textOf(response), "abc");
    await nextTurn();
    assert.equal(idle(), 1);
  }
});

Deno.test("an idle connection that ends, breaks or receives bytes is closed and reported", async (t) => {
  const ways: Readonly<Record<string, (duplex: ScriptedDuplex) => void>> = {
    "ends": (duplex) => duplex.end(),
    "breaks": (duplex) => duplex.breakReads(new Error("reset")),
    "speaks": (duplex) => duplex.give("HTTP/1.1 408 Request Timeout\r\n"),
  };
  await steps(t, Object.entries(ways), async ([, leave]) => {
    const { duplex, socket, send } = open();
    duplex.give(OK);
    await textOf(await send());
    await nextTurn();
    const gone = Promise.withResolvers<void>();
    socket.watchIdle(gone.resolve);
    leave(duplex);
    await within(gone.promise, "the end to be noticed");
    assert.ok(duplex.isClosed);
  });
});

Deno.test("announcedIdleMs is the idle time that a response announces", async () => {
  const announced: Readonly<Record<string, number | undefined>> = {
    "timeout=5": 5000,
    "timeout=5, max=100": 5000,
    "max=100, Timeout=7": 7000,
    "max=100,timeout=7": 7000,
    "timeout=0": 0,
    "timeout = 5": 5000,
    'timeout="5"': 5000,
    "timeout=5;max=100": 5000,
    "timeout=5.9": 5000,
    "max=5": undefined,
    "timeout=": undefined,
    "mytimeout=5": undefined,
    "timeout=-5": undefined,
  };
  for (const [value, ms] of Object.entries(announced)) {
    const { duplex, socket, send } = open();
    duplex.give(OK.replace("\r\n", `\r\nkeep-alive: ${value}\r\n`));
    await textOf(await send());
    await nextTurn();
    assert.equal(socket.announcedIdleMs, ms, value);
  }
});

Deno.test("a signal closes the connection at any stage", async (t) => {
  const half = OK.slice(0, -1);
  const moments: Readonly<
    Record<string, Partial<{ takes: number; given: string }>>
  > = {
    "before anything is written": { takes: 0 },
    "while the body is written": { takes: 60 },
    "before the response": {},
    "in the head": { given: "HTTP/1.1 2" },
    "in the body": { given: half },
  };
  await steps(
    t,
    Object.entries(moments),
    async ([, { takes = Infinity, given = "" }]) => {
      const { duplex, send } = open(createScriptedDuplex({ takes }));
      duplex.give(given);
      const leaving = new AbortController();
      const work = send({ signal: leaving.signal }).then(textOf);
      const failed = failureOf(work);
      await nextTurn();
      leaving.abort();
      assert.equal((await failed).kind, "closed");
      assert.ok(duplex.isClosed);
    },
  );
});

Deno.test("a signal that aborts after the response leaves the connection open", async () => {
  const { duplex, send } = open();
  const leaving = new AbortController();
  duplex.give(OK);
  await textOf(await send({ signal: leaving.signal }));
  await nextTurn();
  leaving.abort();
  assert.equal(duplex.isClosed, false);
});

Deno.test("a cancelled body ends, and its connection closes", async () => {
  const { duplex, send, idle } = open();
  duplex.give(OK.slice(0, -1));
  const { body } = await send();
  assert.deepEqual((await body?.read())?.value, Uint8Array.of(111));
  const waiting = body?.read();
  await body?.cancel();
  assert.equal((await waiting)?.done, true);
  assert.equal((await body?.read())?.done, true);
  assert.ok(duplex.isClosed);
  assert.equal(idle(), 0);
});

Deno.test("a failed body fails at every further read, and returns no byte after the fault", async (t) => {
  const faults: Readonly<Record<string, (duplex: ScriptedDuplex) => void>> = {
    "a trailer is malformed": (duplex) => duplex.give("\r\n0\r\na\r\n\r\n"),
    "it ends": (duplex) => duplex.end(),
  };
  await steps(t, Object.entries(faults), async ([, fail]) => {
    const { duplex, send } = open();
    duplex.give("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    const { body } = await send();
    assert.ok(body);
    duplex.give("5\r\nhello");
    assert.equal((await body.read()).value?.length, 5);
    fail(duplex);
    for (let count = 0; count < 3; count++) await failureOf(body.read());
  });
});

Deno.test("a response is returned before the body of its request is written", async (t) => {
  const ways: Readonly<Record<string, (duplex: ScriptedDuplex) => void>> = {
    "the rest is not taken": () => {},
    "the rest cannot be written": (duplex) =>
      duplex.breakWrites(new Error("reset")),
  };
  await steps(t, Object.entries(ways), async ([, prepare]) => {
    const { duplex, send, idle } = open(createScriptedDuplex({ takes: 10 }));
    const uploaded = Promise.withResolvers<void>();
    let times = 0;
    const onUploaded = () => {
      times++;
      uploaded.resolve();
    };
    const sent = send({ onUploaded });
    await nextTurn();
    prepare(duplex);
    duplex.give(OK);
    assert.equal(await textOf(await sent), "ok");
    await within(duplex.closed, "the close");
    await within(uploaded.promise, "the end of the upload");
    assert.deepEqual([times, idle()], [1, 0]);
  });
});

Deno.test("a response whose last write is reported late leaves the connection open", async () => {
  const inner = createScriptedDuplex({ answers: [OK] });
  const duplex: ScriptedDuplex = {
    ...inner,
    write: async (bytes) => {
      const count = await inner.write(bytes);
      await Promise.resolve().then(nextTurn);
      return count;
    },
  };
  const { send, idle } = open(duplex);
  await textOf(await send());
  await nextTurn();
  await nextTurn();
  assert.equal(idle(), 1);
});
