import assert from "node:assert/strict";
import { replicasOf, threadsOf } from "./plan_groups.ts";
import { openPlans, type PlanScene } from "./plan_scene.ts";

// The endings of a wait, at a single gateway, a thread and a replica. One request runs at the gateway `first`, the
// others wait at `last`.

const GATEWAYS = [
  { name: "a gateway alone", first: 0, last: 0 },
  { name: "a thread", first: 0, last: 1, group: threadsOf(2) },
  { name: "a replica", first: 1, last: 1, group: replicasOf(2) },
] as const;

/** The longest time that an ending may take, in milliseconds. */
const END_MS = 100;

function narrow(group: (typeof GATEWAYS)[number]) {
  return openPlans({
    people: ["ann", "bob", "cid"],
    connections: { one: { max_concurrent: 1, queue: { max_wait: 60_000 } } },
    plans: { one: { capacity: 1, serviceMs: () => 10_000 } },
    overrides: { server: { removed_tokens: "end" } },
    ..."group" in group && { group: group.group },
  });
}

function waitingAt(scene: PlanScene, at: number): number | undefined {
  return scene.gateways[at]?.state().waiting;
}

for (const one of GATEWAYS) {
  const { name, first, last } = one;

  Deno.test(`${name}: a caller who disconnects frees its place in the queue at once`, async () => {
    const scene = await narrow(one);
    const leaving = new AbortController();
    const { signal } = leaving;
    const work = (async () => {
      const running = scene.ask("cid", { at: first });
      const left = scene.ask("ann", { at: last, signal }).catch(() => "left");
      const stays = scene.ask("bob", { at: last });
      await scene.time.sleep(1000);
      assert.equal(waitingAt(scene, last), 2);
      leaving.abort();
      await scene.time.sleep(END_MS);
      assert.equal(waitingAt(scene, last), 1);
      await Promise.all([running, left]);
      return await stays;
    })();
    const { status, endedMs } = await scene.pass(work);
    assert.equal(status, 200);
    assert.ok(endedMs <= 20_000 + END_MS, `${endedMs}`);
  });

  Deno.test(`${name}: waiting requests get a 503 when the gateway stops`, async () => {
    const scene = await narrow(one);
    const work = (async () => {
      const running = scene.ask("ann", { at: first });
      const waits = scene.ask("bob", { at: last });
      await scene.time.sleep(1000);
      const drained = scene.gateways.map(({ admission }) => admission.drain());
      const { status, endedMs } = await waits;
      await Promise.all(drained);
      return { status, endedMs, running: (await running).status };
    })();
    const { status, endedMs, running } = await scene.pass(work);
    assert.deepEqual([status, running], [503, 200]);
    assert.ok(endedMs <= 1000 + END_MS, `${endedMs}`);
  });

  Deno.test(`${name}: a running request does not begin to wait after the gateway began to stop`, async () => {
    const scene = await narrow(one);
    const { one: plan } = scene.plans;
    assert.ok(plan);
    const work = (async () => {
      const running = scene.ask("ann", { at: first });
      await scene.time.sleep(1000);
      const drained = scene.gateways.map(({ admission }) => admission.drain());
      plan.failsWith = 429;
      const { status, endedMs } = await running;
      await Promise.all(drained);
      return { status, endedMs };
    })();
    const { status, endedMs } = await scene.pass(work);
    assert.equal(status, 503);
    assert.ok(endedMs <= 10_000 + END_MS, `${endedMs}`);
  });

  Deno.test(`${name}: a waiting request gets a 401 when its token is removed`, async () => {
    const scene = await narrow(one);
    const work = (async () => {
      const running = scene.ask("ann", { at: first });
      const waits = scene.ask("bob", { at: last });
      await scene.time.sleep(1000);
      const server = { removed_tokens: "end" };
      await scene.configure({ server, tokens: [] });
      await running;
      return await waits;
    })();
    const { status, endedMs } = await scene.pass(work);
    assert.equal(status, 401);
    assert.ok(endedMs <= 1000 + END_MS, `${endedMs}`);
  });

  Deno.test(`${name}: a reload keeps the waiting requests in their order`, async () => {
    const scene = await narrow(one);
    const work = (async () => {
      const running = scene.ask("ann", { at: first });
      await scene.time.sleep(100);
      const waits = ["bob", "cid"].map((person) =>
        scene.ask(person, { at: last })
      );
      await scene.time.sleep(1000);
      await scene.configure({ timeouts: { idle: 1000 } });
      return await Promise.all([running, ...waits]);
    })();
    const turns = await scene.pass(work);
    for (const [index, { status, endedMs }] of turns.entries()) {
      assert.equal(status, 200);
      const dueMs = 10_000 * (index + 1);
      assert.ok(
        endedMs >= dueMs && endedMs <= dueMs + 2 * END_MS,
        `${endedMs}`,
      );
    }
  });
}
