import assert from "node:assert/strict";
import { type OpenGroup, replicasOf, threadsOf } from "./plan_groups.ts";
import { openPlans, orderOf, type PlanScene, sendAt } from "./plan_scene.ts";

// One order over the threads of a process, and over replicas with a store.

const SECOND_MS = 1_000;
const POLL_MS = 100;

/** Returns the waiting requests that a gateway's `/limits` reports. */
async function waitingAt(scene: PlanScene, at: number): Promise<unknown> {
  const response = await scene.gateways[at]?.handler(
    new Request("http://gateway.example/v1/limits", {
      headers: { authorization: "Bearer mg_ann" },
    }),
  );
  const { data } = await response?.json();
  return data[0].waiting;
}

/** Opens gateways with one slot per process, and requests of ten seconds. */
function narrow(group: OpenGroup) {
  return openPlans({
    people: ["ann", "bob", "cid"],
    connections: { one: { max_concurrent: 1, queue: { max_wait: 600_000 } } },
    plans: { one: { capacity: 2, serviceMs: () => 10 * SECOND_MS } },
    group,
  });
}

Deno.test("a slot that one thread frees goes to the caller with the least usage, whatever the caller's thread", async () => {
  const scene = await narrow(threadsOf(3));
  const turns = await sendAt(scene, [
    [0, "ann", { at: 0 }],
    [1000, "ann", { at: 0 }],
    [1001, "ann", { at: 1 }],
    [1002, "bob", { at: 2 }],
  ]);
  assert.deepEqual(orderOf(turns), ["ann", "bob", "ann", "ann"]);
  const lastMs = Math.max(...turns.map(({ endedMs }) => endedMs));
  assert.ok(lastMs <= 40 * SECOND_MS + 4 * POLL_MS, `${lastMs}`);
});

Deno.test("people's requests at one thread come before background work at another", async () => {
  const scene = await narrow(threadsOf(2));
  const headers = { "x-priority": "batch" };
  const turns = await sendAt(scene, [
    [0, "ann", { at: 0 }],
    [1000, "bob", { at: 0, headers }],
    [2000, "ann", { at: 1 }],
  ]);
  assert.deepEqual(orderOf(turns), ["ann", "ann", "bob"]);
});

Deno.test("a thread with many waiting requests does not starve the requests of another thread", async () => {
  const scene = await narrow(threadsOf(2));
  const turns = await sendAt(scene, [
    [0, "ann", { at: 0 }],
    [500, "ann", { at: 1 }],
    ...[1000, 1001, 1002, 1003].map((atMs) =>
      [atMs, "ann", { at: 0 }] as const
    ),
  ]);
  const [, other] = turns;
  assert.ok(other && other.endedMs <= 20 * SECOND_MS + POLL_MS);
});

Deno.test("a new request at one thread does not overtake a waiting one at another", async () => {
  const scene = await narrow(threadsOf(2));
  const [, waits, late] = await sendAt(scene, [
    [0, "ann", { at: 0 }],
    [1000, "bob", { at: 1 }],
    [10_000, "ann", { at: 0 }],
  ]);
  assert.ok(waits && waits.endedMs <= 20 * SECOND_MS + POLL_MS);
  assert.ok(late && late.endedMs > 29 * SECOND_MS);
});

Deno.test("a request is refused at once, with the expected wait, when other threads' requests make the wait too long", async () => {
  const scene = await openPlans({
    people: ["ann", "bob"],
    connections: { one: { max_concurrent: 1, queue: { max_wait: 35_000 } } },
    plans: { one: { capacity: 1, serviceMs: () => 10 * SECOND_MS } },
    group: threadsOf(2),
  });
  await sendAt(scene, [[0, "ann", { at: 0 }], [0, "ann", { at: 1 }]]);
  const turns = await sendAt(scene, [
    ...[0, 1, 2, 3].map((atMs) => [atMs, "ann", { at: 0 }] as const),
    [1000, "ann", { at: 1 }],
  ]);
  const refused = turns.at(-1);
  assert.equal(refused?.status, 503);
  assert.equal(refused.endedMs, refused.sentMs);
  assert.equal(refused.retryAfter, "40");
});

for (const isUp of [true, false]) {
  Deno.test(`the order at a replica ${isUp ? "counts usage at the other replica" : "ignores the other replica at once while the store is away"}`, async () => {
    const scene = await narrow(replicasOf(2));
    scene.group?.setStore?.(isUp);
    const turns = await sendAt(scene, [
      [1000, "ann", { at: 0 }],
      [2000, "cid", { at: 1 }],
      [3000, "ann", { at: 1 }],
      [4000, "bob", { at: 1 }],
    ]);
    assert.deepEqual(
      orderOf(turns),
      isUp ? ["ann", "cid", "bob", "ann"] : ["ann", "cid", "ann", "bob"],
    );
    assert.deepEqual(
      turns.map(({ endedMs }) => endedMs).toSorted((one, other) => one - other),
      [11_000, 12_000, 22_000, 32_000],
    );
  });
}

for (
  const [name, group, seconds] of [["threads", threadsOf(2), 40], [
    "replicas",
    replicasOf(2),
    20,
  ]] as const
) {
  Deno.test(`GET /limits at one of several ${name} counts the requests that wait at all ${name}`, async () => {
    const scene = await narrow(group);
    await sendAt(scene, [[1000, "ann", { at: 0 }], [1000, "ann", { at: 1 }]]);
    const waiting: unknown[] = [];
    const work = sendAt(scene, [
      ...[0, 1, 2].map((at) => [at, "ann", { at: 0 }] as const),
      ...[0, 1].map((at) => [at, "bob", { at: 1 }] as const),
    ]);
    scene.time.schedule(1000, async () => {
      waiting.push(await waitingAt(scene, 0), await waitingAt(scene, 1));
    });
    await work;
    const requests = name === "threads" ? 4 : 3;
    assert.deepEqual(waiting, [0, 1].map(() => ({ requests, seconds })));
    assert.equal(await scene.pass(waitingAt(scene, 1)), undefined);
  });
}
