import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { nextTurn } from "../../support/settle.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";
import {
  answering,
  type ClientScene,
  createClientScene,
  OK,
  textOf,
} from "./scripted_dial.ts";
import { steps } from "../../support/steps.ts";

const RESET = new Error("Connection reset by peer (os error 104)");

async function failureOf(work: Promise<unknown>): Promise<Http1Failure> {
  const failure = await work.then(() => undefined, (cause) => cause);
  assert.ok(failure instanceof Http1Failure, String(failure));
  return failure;
}

/** Sends a request, and returns its connection when that is idle. */
async function warm(scene: ClientScene): Promise<ScriptedDuplex> {
  await textOf(await scene.send());
  await nextTurn();
  const [first] = scene.opened;
  assert.ok(first);
  return first;
}

/** Counts how often a body is given back. */
function counter(): { readonly onUploaded: () => void; count: number } {
  const counted = { count: 0, onUploaded: () => void counted.count++ };
  return counted;
}

Deno.test("a request is sent again when its reused connection ends before it takes a byte", async () => {
  using scene = createClientScene();
  const first = await warm(scene);
  first.breakWrites(RESET);
  const uploaded = counter();
  const sent = scene.send({ onUploaded: uploaded.onUploaded });
  first.breakReads(RESET);
  assert.equal(await textOf(await sent), "ok");
  assert.equal(scene.opened.length, 2);
  await nextTurn();
  assert.equal(uploaded.count, 1);
});

Deno.test("the body of a repeated request is given back only after the second sending", async () => {
  using scene = createClientScene({
    open: (number) =>
      number === 0 ? answering() : createScriptedDuplex({ takes: 10 }),
  });
  const first = await warm(scene);
  first.breakWrites(RESET);
  const uploaded = counter();
  const sent = scene.send({ onUploaded: uploaded.onUploaded });
  first.breakReads(RESET);
  await nextTurn();
  await nextTurn();
  assert.equal(scene.opened.length, 2);
  assert.equal(uploaded.count, 0);
  scene.opened[1]?.limit(Infinity);
  scene.opened[1]?.give(OK);
  await sent;
  await nextTurn();
  assert.equal(uploaded.count, 1);
});

Deno.test("a request is repeated only once, and never after a byte of it was taken", async (t) => {
  await t.step("the second connection also ends", async () => {
    using scene = createClientScene({
      open: (number) =>
        number === 0 ? answering() : createScriptedDuplex({ takes: 0 }),
    });
    const first = await warm(scene);
    first.breakWrites(RESET);
    const failing = failureOf(scene.send());
    first.breakReads(RESET);
    await nextTurn();
    await nextTurn();
    scene.opened[1]?.end();
    const { progress } = await failing;
    assert.deepEqual(progress, {
      sent: "nothing",
      hasAnswer: false,
      isReused: false,
    });
    assert.equal(scene.opened.length, 2);
  });
  const ways: Readonly<Record<string, (duplex: ScriptedDuplex) => void>> = {
    "one byte was taken": (duplex) => duplex.limit(1),
    "all was taken": () => {},
  };
  await steps(t, Object.entries(ways), async ([, prepare]) => {
    using scene = createClientScene({
      open: () => createScriptedDuplex({ answers: [OK] }),
    });
    const first = await warm(scene);
    prepare(first);
    const failing = failureOf(scene.send());
    await nextTurn();
    first.end();
    assert.ok((await failing).progress.isReused);
    assert.equal(scene.opened.length, 1);
  });
});

Deno.test("a connection that cannot be opened is a failure to connect, and the body is given back", async () => {
  const refused = new Error("Connection refused (os error 111)");
  using scene = createClientScene({ dial: () => Promise.reject(refused) });
  const uploaded = counter();
  const { kind, cause, message, progress } = await failureOf(
    scene.send({ onUploaded: uploaded.onUploaded }),
  );
  assert.deepEqual([kind, cause], ["connect", refused]);
  assert.equal(message, "no connection could be opened");
  assert.deepEqual(progress, {
    sent: "nothing",
    hasAnswer: false,
    isReused: false,
  });
  assert.equal(uploaded.count, 1);
});

Deno.test("a connection times out even when the platform ignores the signal", async () => {
  const late = Promise.withResolvers<{ readonly duplex: ScriptedDuplex }>();
  using scene = createClientScene({ dial: () => late.promise });
  const failing = failureOf(scene.send({ connectMs: 5000 }));
  await nextTurn();
  scene.timers.advance(4999);
  await nextTurn();
  scene.timers.advance(1);
  const { kind, cause } = await failing;
  assert.equal(kind, "connect");
  assert.match(String(cause), /timed out/);
  const duplex = createScriptedDuplex();
  late.resolve({ duplex });
  await within(duplex.closed, "the late connection to be closed");
});

Deno.test("the connect timeout does not apply to an idle connection", async () => {
  using scene = createClientScene();
  await textOf(await scene.send({ connectMs: 5000 }));
  scene.timers.advance(5000);
  assert.equal(scene.opened[0]?.isClosed, false);
  await textOf(await scene.send({ connectMs: 5000 }));
  assert.equal(scene.opened.length, 1);
});

Deno.test("idle connections close when descriptors are short, but not when ports are", async () => {
  const shortages = {
    "Too many open files (os error 24)": true,
    "Cannot assign requested address (os error 99)": false,
  };
  for (const [message, isClosed] of Object.entries(shortages)) {
    const kept = answering();
    using scene = createClientScene({
      dial: ({ hostname }) =>
        hostname === "kept.example"
          ? Promise.resolve({ duplex: kept })
          : Promise.reject(new Error(message)),
    });
    await textOf(await scene.send({ url: "http://kept.example/v1" }));
    await nextTurn();
    await failureOf(scene.send());
    assert.equal(kept.isClosed, isClosed, message);
  }
});

Deno.test("a request that is aborted before it is sent uses no connection", async () => {
  using scene = createClientScene();
  const reason = new Error("gone");
  const signal = AbortSignal.abort(reason);
  const uploaded = counter();
  await assert.rejects(scene.send({ signal, onUploaded: uploaded.onUploaded }));
  assert.equal(scene.opened.length, 0);
  const first = await warm(scene);
  await assert.rejects(scene.send({ signal, onUploaded: uploaded.onUploaded }));
  assert.equal(first.isClosed, false);
  assert.equal(uploaded.count, 2);
});

Deno.test("a request that is aborted while its connection is opened ends at once", async () => {
  const late = Promise.withResolvers<{ readonly duplex: ScriptedDuplex }>();
  using scene = createClientScene({ dial: () => late.promise });
  const leaving = new AbortController();
  const failing = failureOf(scene.send({ signal: leaving.signal }));
  await nextTurn();
  leaving.abort(new Error("gone"));
  assert.equal((await failing).kind, "connect");
  const duplex = createScriptedDuplex();
  late.resolve({ duplex });
  await within(duplex.closed, "the late connection to be closed");
  assert.equal(duplex.written, "");
});

Deno.test("a request that is aborted over a reused connection is not repeated", async () => {
  using scene = createClientScene();
  const first = await warm(scene);
  first.limit(0);
  const leaving = new AbortController();
  const failing = failureOf(scene.send({ signal: leaving.signal }));
  await nextTurn();
  leaving.abort();
  assert.equal((await failing).kind, "closed");
  assert.equal(scene.opened.length, 1);
});

Deno.test("a request that cannot be written leaves no connection open", async () => {
  using scene = createClientScene();
  const broken = { headers: [["a", "b\r\nc: d"]] as const };
  const uploaded = counter();
  const send = () => scene.send({ ...broken, onUploaded: uploaded.onUploaded });
  await assert.rejects(send(), TypeError);
  assert.ok(scene.opened.every(({ isClosed }) => isClosed));
  await warm(scene);
  await assert.rejects(send(), TypeError);
  await textOf(await scene.send());
  await nextTurn();
  const open = scene.opened.filter(({ isClosed }) => !isClosed);
  assert.equal(open.length, 1);
  scene.client[Symbol.dispose]();
  assert.ok(scene.opened.every(({ isClosed }) => isClosed));
  assert.equal(uploaded.count, 2);
});
