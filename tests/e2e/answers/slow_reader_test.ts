import assert from "node:assert/strict";
import { STALL_MS } from "../../../src/streams/pass_through.ts";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until } from "../../support/within.ts";
import { WIRES } from "../../support/wire/wire.ts";

const MIB = 1024 * 1024;

const WHOLE_MIB = 128;

const CHAT_EVENT = WIRES.chat.output;

/** The most that the system buffers for two sockets. */
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
  const { body } = await gateway.call(PATHS.chat, ask("chat"));
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
  const answer = await gateway.call(PATHS.chat, ask("chat", body));
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
  Deno.test(`a caller whose socket takes nothing for ten minutes loses its slot and its upstream, ${mode}`, async () => {
    const { start, output } = WIRES[wire];
    const { upstream, sent } = startFastUpstream(output, Infinity, {
      start,
    });
    await using _ = upstream;
    const timers = createFakeTimers();
    await using gateway = await startGateway(familiesFile(upstream.url), {
      timers,
    });
    const body = hello("chat", { model, stream: true });
    const answer = await gateway.call(PATHS.chat, ask("chat", body));
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
