import assert from "node:assert/strict";
import { STALL_MS } from "../../../src/base/streams/pass_through.ts";
import { PROTOCOLS } from "../../support/wire/ask.ts";
import { streamOf } from "../../support/upstream/bad_provider.ts";
import {
  connectionTo,
  type Mode,
  openScene,
  type Scene,
} from "../../support/gateway/failover_scene.ts";
import { settle } from "../../support/settle.ts";
import { steps } from "../../support/steps.ts";

const MODES: readonly Mode[] = ["native", "translated"];

/** The number of output chunks in the provider's answer. */
const OUTPUTS = 20;

const provider = streamOf(
  ({ start, output, end }) => [start, ...Array(OUTPUTS).fill(output), end],
  "end",
);

/** Requests a stream and reads its first chunk. */
async function begin(protocol: (typeof PROTOCOLS)[number], mode: Mode) {
  const scene = await openScene([
    connectionTo("one", { protocol, mode }, { max_concurrent: 1 }),
  ], { one: [provider] });
  const asking = scene.gateway.handler(
    scene.request(protocol, { stream: true }),
  );
  const reader = (await asking).body?.getReader() ?? assert.fail();
  await take(reader);
  return { scene, reader };
}

/** Reads the next chunk as text; "" at the end. */
async function take(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<string> {
  const { value } = await reader.read();
  await settle();
  return new TextDecoder().decode(value);
}

/** Asserts that nothing of the request remains. */
function assertLetGo({ gateway, providers, timers }: Scene): void {
  assert.equal(gateway.admission.active, 0);
  assert.equal(timers.running, 0);
  assert.deepEqual(providers.asked.map(({ signal }) => signal.aborted), [true]);
}

for (const mode of MODES) {
  Deno.test(`a caller that reads nothing for ten minutes is cut off, and its slot and upstream are released, ${mode}`, (t) =>
    steps(t, PROTOCOLS, async (protocol) => {
      const { scene, reader } = await begin(protocol, mode);
      scene.timers.advance(STALL_MS - 1);
      await settle();
      assert.equal(scene.gateway.admission.active, 1);
      scene.timers.advance(1);
      await settle();
      assertLetGo(scene);
      const { ended, reason } = await scene.lines.requests.next();
      assert.equal(ended, "client_abort");
      assert.equal(reason, "the caller stopped reading");
      await assert.rejects(take(reader), /stopped reading/);
    }));

  Deno.test(`a caller who reads slowly gets the whole answer, ${mode}`, (t) =>
    steps(t, PROTOCOLS, async (protocol) => {
      const { scene, reader } = await begin(protocol, mode);
      let pieces = 1;
      for (;;) {
        scene.timers.advance(STALL_MS - 1);
        if (await take(reader) === "") break;
        pieces++;
      }
      assert.ok(pieces >= OUTPUTS, String(pieces));
      const { ended } = await scene.lines.requests.next();
      assert.equal(ended, "complete");
      assert.equal(scene.gateway.admission.active, 0);
      assert.equal(scene.timers.running, 0);
    }));
}
