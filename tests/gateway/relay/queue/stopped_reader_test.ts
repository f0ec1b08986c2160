import assert from "node:assert/strict";
import {
  connectionTo,
  type Mode,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import { settle } from "../../../support/settle.ts";
import { steps } from "../../../support/steps.ts";
import { streamOf } from "../../../support/upstream/bad_provider.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";

// A caller who stops reading keeps its slot for ten minutes, and for one while others wait for it.

const MINUTE_MS = 60_000;
const MODES: readonly Mode[] = ["native", "translated"];
const QUEUE = { max_concurrent: 1, queue: { max_wait: 600_000 } };

const stream = streamOf(
  ({ start, output, end }) => [start, ...Array(20).fill(output), end],
  "end",
);

type Protocol = (typeof PROTOCOLS)[number];

/** Opens a gateway whose only slot belongs to a caller who has read a single chunk. */
async function begin(
  protocol: Protocol,
  mode: Mode,
  fields: Readonly<Record<string, unknown>> = QUEUE,
) {
  const scene = await openScene(
    [connectionTo("one", { protocol, mode }, fields)],
    { one: [stream, stream, stream] },
  );
  const response = await scene.gateway.handler(
    scene.request(protocol, { stream: true }),
  );
  const reader = response.body?.getReader() ?? assert.fail();
  await reader.read();
  await settle();
  return { scene, reader };
}

/** Sends a request that waits for the slot. */
async function waitAt(scene: Scene, protocol: Protocol) {
  const request = scene.request(protocol, { stream: true });
  const asking = scene.gateway.handler(request);
  const one = {
    status: 0,
    ended: asking.then(async (response) => {
      one.status = response.status;
      await response.text();
    }),
  };
  await settle();
  assert.equal(scene.gateway.state().waiting, 1);
  return one;
}

async function advance({ timers }: Scene, ms: number): Promise<void> {
  timers.advance(ms);
  await settle();
}

Deno.test("a caller who stops reading a long JSON answer loses the slot to a waiting request", async () => {
  const body = JSON.stringify({
    choices: [{ message: { content: "x".repeat(300_000) } }],
  });
  const pieces = Array.from(
    { length: 30 },
    (_, at) => body.slice(at * 11_000, (at + 1) * 11_000),
  ).filter((one) => one !== "");
  const json = () =>
    new Response(
      ReadableStream.from(pieces.map((one) => new TextEncoder().encode(one))),
      { headers: { "content-type": "application/json" } },
    );
  const scene = await openScene(
    [connectionTo("one", { protocol: "chat", mode: "native" }, QUEUE)],
    { one: [json, json] },
  );
  const response = await scene.gateway.handler(scene.request("chat"));
  const reader = response.body?.getReader() ?? assert.fail();
  await reader.read();
  const other = await waitAt(scene, "chat");
  await advance(scene, MINUTE_MS - 1);
  assert.equal(other.status, 0);
  await advance(scene, 1);
  assert.equal(other.status, 200);
  await scene.pass(other.ended);
  const { ended } = await scene.lines.requests.next();
  assert.equal(ended, "client_abort");
});

for (const mode of MODES) {
  Deno.test(`a caller who reads nothing for a minute is cut off while another request waits for the slot, ${mode}`, (t) =>
    steps(t, PROTOCOLS, async (protocol) => {
      const { scene, reader } = await begin(protocol, mode);
      const other = await waitAt(scene, protocol);
      await advance(scene, MINUTE_MS - 1);
      assert.equal(other.status, 0);
      await advance(scene, 1);
      assert.equal(other.status, 200);
      const { ended, reason } = await scene.lines.requests.next();
      assert.equal(ended, "client_abort");
      assert.equal(
        reason,
        "the caller stopped reading while others waited for the connection",
      );
      await assert.rejects(async () => {
        while (!(await reader.read()).done);
      }, /stopped reading/);
      assert.equal(scene.providers.asked[0]?.signal.aborted, true);
    }));

  Deno.test(`a caller who has read nothing for minutes is cut off soon after another request began to wait, ${mode}`, (t) =>
    steps(t, PROTOCOLS, async (protocol) => {
      const { scene } = await begin(protocol, mode);
      await advance(scene, 5 * MINUTE_MS + 1);
      assert.equal(scene.gateway.admission.active, 1);
      const other = await waitAt(scene, protocol);
      await advance(scene, 5_000);
      assert.equal(other.status, 200);
    }));

  Deno.test(`a caller who reads again within a minute keeps its slot, ${mode}`, (t) =>
    steps(t, PROTOCOLS, async (protocol) => {
      const { scene, reader } = await begin(protocol, mode);
      const other = await waitAt(scene, protocol);
      await advance(scene, MINUTE_MS - 20_001);
      for (;;) {
        await advance(scene, 20_000);
        const { done } = await reader.read();
        await settle();
        if (done) break;
        assert.equal(other.status, 0);
      }
      const { ended } = await scene.lines.requests.next();
      assert.equal(ended, "complete");
      assert.equal(other.status, 200);
    }));

  Deno.test(`a caller who reads nothing keeps its slot for ten minutes while no request waits, ${mode}`, (t) =>
    steps(t, PROTOCOLS, async (protocol) => {
      const { scene } = await begin(protocol, mode);
      await advance(scene, 10 * MINUTE_MS - 1);
      assert.equal(scene.gateway.admission.active, 1);
      await advance(scene, 1);
      assert.equal(scene.gateway.admission.active, 0);
      assert.equal(scene.timers.running, 0);
      const { reason } = await scene.lines.requests.next();
      assert.equal(reason, "the caller stopped reading");
    }));
}
