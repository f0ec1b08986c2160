import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { STALL_MS } from "../../../src/base/streams/pass_through.ts";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { until, within } from "../../support/within.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { createInbox } from "../../support/fakes/inbox.ts";
import { testNeeding } from "../../support/ignored.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { steps } from "../../support/steps.ts";

const MIB = 1024 * 1024;

const WHOLE_MIB = 128;

const CHAT_EVENT = WIRES.chat.output;

/** The most MiB that the system buffers for two sockets. */
const BUFFERED_MIB = 48;

const END = "data: [DONE]\n\n";

/** The number of consecutive checks without a change, after which the stream has stopped. */
const SETTLED_LOOKS = 60;

/**
 * Resolves when a number has not changed for a while, counted in turns of the event loop. On a busy
 * machine, time may pass without any turn.
 */
async function untilSettled(count: () => number): Promise<void> {
  let last = -1;
  let looks = 0;
  await until(() => {
    looks = count() === last ? looks + 1 : 0;
    last = count();
    return looks > SETTLED_LOOKS;
  }, "the upstream to pause");
}

/** Starts an upstream with an endless stream of one event, and counts the MiB that were read. */
function startFastUpstream(
  event: string,
  wholeMib: number,
  { start = "", end = "" } = {},
) {
  const piece = padded(event);
  const sent = { mib: 0, isLetGo: false };
  const upstream = startUpstream(() =>
    new Response(
      new ReadableStream({
        start(controller) {
          if (start !== "") controller.enqueue(new TextEncoder().encode(start));
        },
        pull(controller) {
          if (sent.mib === wholeMib) {
            if (end !== "") controller.enqueue(new TextEncoder().encode(end));
            return controller.close();
          }
          sent.mib++;
          controller.enqueue(piece.slice());
        },
        cancel: () => void (sent.isLetGo = true),
      }, { highWaterMark: 0 }),
      { headers: SSE_HEADERS },
    )
  );
  return { upstream, sent };
}

/** Returns a MiB of one event and a comment. */
function padded(event: string): Uint8Array<ArrayBuffer> {
  const events = event.repeat(Math.floor((MIB - 4) / event.length));
  return new TextEncoder().encode(`${events.padEnd(MIB - 3, ":")}:\n\n`);
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<number> {
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return size;
    size += value.length;
  }
}

Deno.test("a slow reader pauses the upstream, nothing accumulates, and the idle deadline does not run", async () => {
  const { upstream, sent } = startFastUpstream(CHAT_EVENT, WHOLE_MIB, {
    end: END,
  });
  await using _ = upstream;
  const timers = createFakeTimers();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts: { idle: 150 } }),
    { timers },
  );
  const { body } = await gateway.ask("chat");
  const reader = body?.getReader() ?? assert.fail();
  const { value } = await reader.read();
  await untilSettled(() => sent.mib);
  assert.ok(sent.mib < BUFFERED_MIB, `${sent.mib} MiB were sent`);
  timers.advance(1000);
  const rest = await readAll(reader);
  const whole = WHOLE_MIB * MIB + END.length;
  assert.equal((value?.length ?? 0) + rest, whole);
  assert.equal((await gateway.lines.requests.next()).bytes_out, whole);
});

Deno.test("a slow reader of a translated stream pauses the upstream, too", async () => {
  const { start, output } = WIRES.messages;
  const { upstream, sent } = startFastUpstream(output, Infinity, { start });
  await using _ = upstream;
  const timers = createFakeTimers();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts: { idle: 150 } }),
    { timers },
  );
  const body = hello("chat", { model: "model-b", stream: true });
  const answer = await gateway.ask("chat", body);
  const reader = answer.body?.getReader() ?? assert.fail();
  assert.equal((await reader.read()).done, false);
  await untilSettled(() => sent.mib);
  const paused = sent.mib;
  assert.ok(paused < BUFFERED_MIB, `${paused} MiB were sent`);
  timers.advance(1000);
  for (let mib = 0; mib < BUFFERED_MIB;) {
    mib += ((await reader.read()).value?.length ?? assert.fail()) / MIB;
  }
  await until(() => sent.mib > paused, "the upstream to go on");
  await reader.cancel();
  assert.equal((await gateway.lines.requests.next()).ended, "client_abort");
});

for (
  const [mode, model, wire] of [
    ["native", "model-a", "chat"],
    ["translated", "model-b", "messages"],
  ] as const
) {
  Deno.test(`a caller who takes no byte for ten minutes loses its slot and its upstream request, ${mode}`, async () => {
    const { start, output } = WIRES[wire];
    const { upstream, sent } = startFastUpstream(output, Infinity, { start });
    await using _ = upstream;
    const timers = createFakeTimers();
    await using gateway = await startGateway(familiesFile(upstream.url), {
      timers,
    });
    const body = hello("chat", { model, stream: true });
    const answer = await gateway.ask("chat", body);
    try {
      await untilSettled(() => sent.mib);
      assert.equal(gateway.admission.active, 1);
      timers.advance(STALL_MS);
      const { ended, reason } = await gateway.lines.requests.next();
      assert.equal(ended, "client_abort");
      assert.equal(reason, "the caller stopped reading");
      assert.equal(gateway.admission.active, 0);
      await until(() => sent.isLetGo, "the upstream to be let go");
    } finally {
      await answer.body?.cancel();
    }
  });
}

for (
  const [mode, family, model, wire] of [
    ["native", "A", "model-a", "chat"],
    ["translated", "B", "model-b", "messages"],
  ] as const
) {
  Deno.test(`a caller who takes no byte for a minute loses its slot to a waiting caller, ${mode}`, async () => {
    const { start, output } = WIRES[wire];
    const { upstream, sent } = startFastUpstream(output, Infinity, { start });
    await using _ = upstream;
    const timers = createFakeTimers();
    const connection = {
      ...familyConnection(family, upstream.url),
      max_concurrent: 1,
      queue: { max_wait: 600_000 },
    };
    await using gateway = await startGateway(
      familiesFile(upstream.url, { connections: [connection] }),
      { timers },
    );
    const body = hello("chat", { model, stream: true });
    const answer = await gateway.ask("chat", body);
    try {
      await untilSettled(() => sent.mib);
      const asking = gateway.ask("chat", body);
      await until(() => gateway.admission.active === 2, "the wait");
      await untilSettled(() => sent.mib);
      timers.advance(60_000);
      const { ended, reason } = await gateway.lines.requests.next();
      assert.equal(ended, "client_abort");
      assert.match(String(reason), /stopped reading while others waited/);
      const other = await within(asking, "the other answer");
      assert.equal(other.status, 200);
      await other.body?.cancel();
      await assert.rejects(async () => {
        for await (const _ of answer.body ?? []);
      });
    } finally {
      await answer.body?.cancel().catch(() => {});
    }
  });
}

/** Heartbeats, which are slow to read and have no meaning. */
const HEARTBEATS = new TextEncoder().encode(
  ": keep-alive\n\ndata: ping\n\n".repeat(32 * 1024),
);

/** A chunk without meaning, in each format of an answer. */
const PIECES: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {
  identity: HEARTBEATS,
  gzip: Uint8Array.from(gzipSync(HEARTBEATS)),
};

/**
 * The chunks of an answer, which are 10 MiB. After 16 MiB without output, the gateway ends an answer and tries again,
 * so that with more chunks the result would depend on the machine's speed.
 */
const MOST_CHUNKS = 12;

/** The model and the format of each mode. */
const MODES = {
  "a native stream": { model: "model-a", stream: true },
  "a translated stream": { model: "model-b", stream: true },
  "a stream made one answer": { model: "model-f", stream: false },
} as const;

function repeated(
  bytes: Uint8Array<ArrayBuffer>,
  count: number,
): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(count * bytes.length);
  for (let at = 0; at < all.length; at += bytes.length) all.set(bytes, at);
  return all;
}

/**
 * Starts an upstream whose answers arrive as fast as possible and never end, or are silent after their first chunk.
 * Gzip chunks arrive all at once.
 */
function startUpstreamOf(
  encoding: string,
  { isSilent = false }: { readonly isSilent?: boolean } = {},
) {
  const one = PIECES[encoding] ?? assert.fail(encoding);
  const isMany = encoding === "gzip" && !isSilent;
  const piece = isMany ? repeated(one, MOST_CHUNKS) : one;
  const most = isMany || isSilent ? 1 : MOST_CHUNKS;
  const cancels = createInbox("the provider to be let go");
  let pieces = 0;
  const upstream = startUpstream(() => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ === most) return new Promise(() => {});
        pieces++;
        controller.enqueue(piece.slice());
      },
      cancel: () => cancels.put({}),
    }, { highWaterMark: 0 });
    return new Response(body, {
      headers: { ...SSE_HEADERS, "content-encoding": encoding },
    });
  });
  return { upstream, cancels, pieces: () => pieces };
}

function serve(
  { url }: ScriptedUpstream,
  timeouts: Readonly<Record<string, number>> = {},
): Promise<ServedGateway> {
  return serveFile(minimalFile({
    server: { port: 0, drain_seconds: 0 },
    connections: [
      familyConnection("A", url, { timeouts }),
      familyConnection("B", url, { timeouts }),
      familyConnection("B", url, {
        name: "Family B that only streams",
        models: ["model-f"],
        stream_only: true,
        timeouts,
      }),
    ],
  }));
}

interface Asked {
  /** The status and text that the caller received, after the end. */
  readonly ended: Promise<{ readonly status: number; readonly text: string }>;
  readonly caller: AbortController;
  isOver(): boolean;
}

/** Sends a request, and reads the answer as fast as possible. */
function begin(
  { url }: ServedGateway,
  { model, stream }: (typeof MODES)[keyof typeof MODES],
): Asked {
  const caller = new AbortController();
  let isOver = false;
  const ended = (async () => {
    const answer = await fetch(url + PATHS.chat, {
      ...ask("chat", hello("chat", { model, stream })),
      signal: caller.signal,
    });
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text = new TextDecoder().decode(chunk.subarray(0, 1000));
    }
    return { status: answer.status, text };
  })().finally(() => isOver = true);
  ended.catch(() => {
    // The test waits for it later.
  });
  return { ended, caller, isOver: () => isOver };
}

/** Checks that the gateway responds. After three responses, it has resumed its other work. */
async function checkLive({ url }: ServedGateway): Promise<void> {
  for (let count = 0; count < 3; count++) {
    const { status } = await within(askOnce(`${url}/livez`), "/livez");
    assert.equal(status, 200);
  }
}

for (const encoding of Object.keys(PIECES)) {
  Deno.test(`while a compressed answer inflates to no content, ${encoding}, other requests are served and the caller may leave`, async (t) => {
    const { upstream, cancels } = startUpstreamOf(encoding);
    await using _ = upstream;
    await using gateway = await serve(upstream);
    await steps(t, Object.entries(MODES), async ([, mode]) => {
      const { caller, ended, isOver } = begin(gateway, mode);
      await upstream.requests.next();
      await checkLive(gateway);
      assert.equal(isOver(), false);
      caller.abort();
      await assert.rejects(ended);
      await cancels.next();
    });
    const isLogged = () => gateway.lines("request").length === 3;
    await until(isLogged, "the log lines");
    for (const { ended } of gateway.lines("request")) {
      assert.equal(ended, "client_abort");
    }
  });

  Deno.test(`a compressed answer that inflates to no content, ${encoding}, ends at the deadline of the first output`, async () => {
    const { upstream, cancels } = startUpstreamOf(encoding);
    await using _ = upstream;
    await using gateway = await serve(upstream, { first_output: 1500 });
    const { ended } = begin(gateway, MODES["a translated stream"]);
    assert.equal((await within(ended, "the answer")).status, 504);
    await cancels.next();
  });

  Deno.test(`an answer without output, ${encoding}, ends when the provider falls silent`, async (t) => {
    const { upstream, cancels } = startUpstreamOf(encoding, { isSilent: true });
    await using _ = upstream;
    await using gateway = await serve(upstream, { idle: 200 });
    await steps(t, Object.entries(MODES), async ([, mode]) => {
      const { ended } = begin(gateway, mode);
      const isNative = mode.model === "model-a";
      if (isNative) await assert.rejects(within(ended, "the break"));
      else assert.equal((await within(ended, "the answer")).status, 504);
      await cancels.next();
    });
  });

  testNeeding(
    `SIGTERM cuts answers that arrive at full speed without output, ${encoding}`,
    Deno.build.os === "windows" && "Windows has no such signals",
    async () => {
      const { upstream, cancels, pieces } = startUpstreamOf(encoding);
      await using _ = upstream;
      await using gateway = await serve(upstream);
      const answers = Object.values(MODES).map((mode) => begin(gateway, mode));
      await until(() => pieces() > 2, "the gateway to be at work");
      await checkLive(gateway);
      gateway.kill("SIGTERM");
      assert.equal((await within(gateway.ended, "the exit")).code, 0);
      await Promise.allSettled(answers.map(({ ended }) => ended));
      for (const _ of answers) await cancels.next();
    },
  );
}

Deno.test("an answer that inflates to more than 16 MiB before its first output counts as broken", async (t) => {
  const { "a native stream": _, ...translated } = MODES;
  const comments = new TextEncoder().encode(": keep-alive\n\n".repeat(1 << 16));
  const bomb = Uint8Array.from(gzipSync(comments));
  await using upstream = startUpstream(() => {
    const body = ReadableStream.from(Array(64).fill(bomb));
    return new Response(body, {
      headers: { ...SSE_HEADERS, "content-encoding": "gzip" },
    });
  });
  await using gateway = await serve(upstream);
  await steps(t, Object.entries(translated), async ([, mode]) => {
    const { status, text } = await within(
      begin(gateway, mode).ended,
      "the answer",
    );
    assert.equal(status, 502);
    assert.match(text, /The provider sent 16 MiB without any output/);
  });
  await until(() => gateway.lines("request").length === 2, "the log lines");
  for (const { error } of gateway.lines("request")) {
    assert.equal(error, "broken");
  }
});
