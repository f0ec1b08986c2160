import assert from "node:assert/strict";
import { SSE_HEADERS } from "../support/answers.ts";
import { ask, PATHS } from "../support/ask.ts";
import { familiesFile } from "../support/families.ts";
import { startGateway } from "../support/gateway.ts";
import { startUpstream } from "../support/scripted_upstream.ts";
import { until } from "../support/within.ts";

const MIB = 1024 * 1024;

const WHOLE_MIB = 128;

/** What the system's buffers of two sockets hold at most, with room to spare. */
const BUFFERED_MIB = 48;

/** Resolves when a number has not changed for a while. */
async function untilSettled(count: () => number): Promise<void> {
  let last = -1;
  let sinceMs = 0;
  await until(() => {
    const nowMs = performance.now();
    if (count() !== last) {
      last = count();
      sinceMs = nowMs;
    }
    return nowMs - sinceMs > 300;
  }, "the upstream to pause");
}

/** An endless stream of lines, as far as it is wanted, and how much of it was. */
function startFastUpstream(wholeMib: number) {
  const content = "words words words ";
  const delta = JSON.stringify({ choices: [{ delta: { content } }] });
  const event = `data: ${delta}\n\n`;
  const piece = new TextEncoder().encode(event.repeat(MIB / event.length));
  const sent = { mib: 0 };
  const upstream = startUpstream(() =>
    new Response(
      new ReadableStream({
        pull(controller) {
          if (sent.mib === wholeMib) return controller.close();
          sent.mib++;
          controller.enqueue(piece.slice());
        },
      }, { highWaterMark: 0 }),
      { headers: SSE_HEADERS },
    )
  );
  return { upstream, sent };
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

Deno.test("18: a slow reader pauses the upstream, nothing piles up, and the idle deadline does not run", async () => {
  const { upstream, sent } = startFastUpstream(WHOLE_MIB);
  await using _ = upstream;
  await using gateway = await startGateway(
    familiesFile(upstream.url, { timeouts: { idle: 150 } }),
  );
  const { body } = await gateway.call(PATHS.chat, ask("chat"));
  const reader = body?.getReader() ?? assert.fail();
  const { value } = await reader.read();
  await untilSettled(() => sent.mib);
  assert.ok(sent.mib < BUFFERED_MIB, `${sent.mib} MiB were sent`);
  const rest = await readAll(reader);
  assert.equal((value?.length ?? 0) + rest, WHOLE_MIB * MIB);
  assert.equal(
    (await gateway.lines.requests.next()).bytes_out,
    WHOLE_MIB * MIB,
  );
});
