import assert from "node:assert/strict";
import { connectionFile } from "../../../support/gateway/config.ts";
import { openPlans, orderOf, sendAt, type Turn } from "./plan_scene.ts";

const SECOND_MS = 1_000;
const QUEUE = { queue: { max_wait: 60_000 } };

/** Opens a plan of one slot, with requests of ten seconds. */
function narrow(
  people: readonly string[],
  connection: Readonly<Record<string, unknown>> = QUEUE,
) {
  return openPlans({
    people,
    connections: { one: { max_concurrent: 1, ...connection } },
    plans: { one: { capacity: 1, serviceMs: () => 10 * SECOND_MS } },
  });
}

Deno.test("a request gets a 503 at once when its connection is full and has no `queue`", async () => {
  const scene = await narrow(["ann", "bob"], {});
  const [, second] = await sendAt(scene, [[0, "ann"], [1, "bob"]]);
  assert.equal(second?.status, 503);
  assert.equal(second.endedMs, 1);
});

Deno.test("a request waits for a slot when its connection is full", async () => {
  const scene = await narrow(["ann", "bob"]);
  const [first, second] = await sendAt(scene, [[0, "ann"], [1000, "bob"]]);
  assert.equal(first?.status, 200);
  assert.equal(first.line.waited_ms, undefined);
  assert.equal(second?.status, 200);
  assert.equal(second.endedMs, 20 * SECOND_MS);
  assert.equal(second.line.waited_ms, 9 * SECOND_MS);
  assert.equal(second.line.waited_for, "concurrency");
  assert.equal(scene.plans.one?.refusals, 0);
  assert.equal(scene.gateway.state().waiting, 0);
});

Deno.test("a caller with many requests waits behind a caller with few", async () => {
  const scene = await narrow(["ann", "bob"]);
  const turns = await sendAt(scene, [
    ...[0, 1, 2, 3].map((atMs) => [atMs, "ann"] as const),
    ...[100, 101].map((atMs) => [atMs, "bob"] as const),
  ]);
  assert.deepEqual(orderOf(turns), ["ann", "bob", "ann", "bob", "ann", "ann"]);
});

Deno.test("a token of twice the weight gets twice the turns", async () => {
  const scene = await openPlans({
    people: ["ann", "bob"],
    tokens: { ann: { weight: 2 } },
    connections: { one: { max_concurrent: 1, queue: { max_wait: 600_000 } } },
    plans: { one: { capacity: 1, serviceMs: () => SECOND_MS } },
  });
  const turns = await sendAt(
    scene,
    Array.from(
      { length: 60 },
      (_, index) => [0, index % 2 === 0 ? "ann" : "bob"] as const,
    ),
  );
  const first = orderOf(turns).slice(0, 36);
  const ofAnn = first.filter((person) => person === "ann").length;
  assert.ok(ofAnn >= 22 && ofAnn <= 26, `${ofAnn} of 36`);
});

Deno.test("people's requests go before subagents and batches for half of the longest wait", async () => {
  const scene = await narrow(["ann"]);
  const session = { "x-claude-code-session-id": "s" };
  const turns = await sendAt(scene, [
    [0, "ann"],
    [1, "ann", { headers: { "x-priority": "batch" } }],
    [2, "ann", { headers: { ...session, "x-claude-code-agent-id": "a" } }],
    [3, "ann", { headers: session }],
    [9000, "ann"],
  ]);
  const ends = turns.map(({ endedMs }) => endedMs / SECOND_MS);
  const [first, batch, subagent, main, late] = ends;
  assert.equal(first, 10);
  assert.deepEqual([main, late].toSorted(), [20, 30]);
  assert.deepEqual([batch, subagent].toSorted(), [40, 50]);
});

Deno.test("background work is served in its turn after half of its longest wait", async () => {
  const scene = await narrow(["ann", "bob"]);
  const people = Array.from(
    { length: 8 },
    (_, index) => [index * 9_000, "ann"] as const,
  );
  const [batch] = await sendAt(scene, [
    [100, "bob", { headers: { "x-priority": "background" } }],
    ...people,
  ]);
  assert.equal(batch?.status, 200);
  assert.ok(batch.endedMs <= 50 * SECOND_MS, `${batch.endedMs}`);
});

Deno.test("the sessions of one caller take turns", async () => {
  const scene = await narrow(["ann"]);
  const inSession = (name: string) => ({ headers: { "x-session-id": name } });
  const turns = await sendAt(scene, [
    ...[0, 1, 2, 3].map((atMs) => [atMs, "ann", inSession("busy")] as const),
    [4, "ann", inSession("calm")],
  ]);
  assert.equal(turns.at(-1)?.endedMs, 20 * SECOND_MS);
});

Deno.test("a request that cannot be served in time is refused at once, with the expected wait in Retry-After", async () => {
  const scene = await narrow(["ann"], { queue: { max_wait: 35_000 } });
  await sendAt(scene, [[0, "ann"]]);
  const turns = await sendAt(
    scene,
    [0, 1, 2, 3, 4, 5].map((atMs) => [atMs, "ann"]),
  );
  const refused = turns.filter(({ status }) => status === 503);
  assert.equal(refused.length, 2);
  for (const { sentMs, endedMs, retryAfter } of refused) {
    assert.equal(endedMs, sentMs);
    assert.equal(retryAfter, "40");
  }
  assert.equal(turns.filter(({ status }) => status === 200).length, 4);
});

Deno.test("a waiting request is refused after the queue's longest wait", async () => {
  const scene = await narrow(["ann", "bob"], { queue: { max_wait: 5_000 } });
  const [, second] = await sendAt(scene, [[0, "ann"], [0, "bob"]]);
  assert.equal(second?.status, 503);
  assert.equal(second.endedMs, 5_000);
  assert.equal(second.line.waited_ms, 5_000);
});

Deno.test("requests wait for the end of a short 429 without further attempts", async () => {
  const scene = await openPlans({
    people: ["ann", "bob"],
    connections: { one: QUEUE },
    plans: { one: { capacity: 9, serviceMs: () => SECOND_MS } },
  });
  const { one } = scene.plans;
  assert.ok(one);
  one.closedUntilMs = 20 * SECOND_MS;
  const turns = await sendAt(scene, [[0, "ann"], [100, "ann"], [200, "bob"]]);
  for (const { status, line } of turns) {
    assert.equal(status, 200);
    assert.equal(line.waited_for, "rate_limit");
  }
  assert.ok(one.refusals <= 2, `${one.refusals}`);
});

Deno.test("a 429 that outlasts the longest wait is returned as if there were no queue", async () => {
  const scene = await narrow(["ann"]);
  const { one } = scene.plans;
  assert.ok(one);
  one.closedUntilMs = 3_600_000;
  const [first, second] = await sendAt(scene, [[0, "ann"], [1000, "ann"]]);
  assert.deepEqual([first?.status, second?.status], [429, 429]);
  assert.equal(second?.retryAfter, "299");
});

Deno.test("a request makes at most three attempts, however often it waits", async () => {
  const scene = await openPlans({
    people: ["ann"],
    connections: { one: QUEUE, two: QUEUE },
    plans: {
      one: { capacity: 9, serviceMs: () => SECOND_MS },
      two: { capacity: 9, serviceMs: () => SECOND_MS },
    },
  });
  const { one, two } = scene.plans;
  assert.ok(one && two);
  one.failsWith = two.failsWith = 429;
  const { status, line } = await scene.pass(scene.ask("ann"));
  assert.equal(status, 429);
  assert.ok(Array.isArray(line.attempts));
  assert.equal(line.attempts.length, 3);
  assert.ok(Number(line.waited_ms) > 0);
});

Deno.test("a request waits for its token's limit to reset, and delays no other request", async () => {
  const scene = await openPlans({
    people: ["ann", "bob"],
    tokens: { ann: { limits: [{ window: "minute", requests: 1 }] } },
    connections: { one: { max_concurrent: 1, ...QUEUE } },
    plans: { one: { capacity: 1, serviceMs: () => SECOND_MS } },
  });
  const [first, second, third] = await sendAt(scene, [
    [10_000, "ann"],
    [12_000, "ann"],
    [13_000, "bob"],
  ]);
  assert.deepEqual([first, second, third].map((turn) => turn?.status), [
    200,
    200,
    200,
  ]);
  assert.equal(third?.endedMs, 14_000);
  assert.ok(second && second.endedMs >= 61_000 && second.endedMs <= 66_000);
  assert.equal(second.line.waited_for, "limit");
});

Deno.test("a request goes to the connection whose slot frees first", async () => {
  const scene = await openPlans({
    people: ["ann", "bob", "cid"],
    connections: {
      one: { max_concurrent: 1, ...QUEUE },
      two: { max_concurrent: 1, ...QUEUE },
    },
    plans: {
      one: { capacity: 1, serviceMs: () => 20 * SECOND_MS },
      two: { capacity: 1, serviceMs: () => 5 * SECOND_MS },
    },
  });
  const turns = await sendAt(scene, [[0, "ann"], [1, "bob"], [2, "cid"]]);
  assert.deepEqual(turns.map(({ line }) => line.connection), [
    "one",
    "two",
    "two",
  ]);
});

Deno.test("a conversation waits for its own connection for half of the longest wait, then moves", async () => {
  const scene = await openPlans({
    people: ["ann", "bob"],
    connections: {
      one: { max_concurrent: 1, ...QUEUE },
      two: { max_concurrent: 1, ...QUEUE },
    },
    plans: {
      one: { capacity: 1, serviceMs: () => 20 * SECOND_MS },
      two: { capacity: 1, serviceMs: () => SECOND_MS },
    },
  });
  const session = { headers: { "x-claude-code-session-id": "s" } };
  const [, , stayed] = await sendAt(scene, [
    [0, "ann", session],
    [21_000, "bob"],
    [22_000, "ann", session],
  ]);
  assert.equal(stayed?.line.connection, "one");
  assert.equal(stayed.endedMs, 61_000);
  const { one } = scene.plans;
  assert.ok(one);
  one.serviceMs = () => 200 * SECOND_MS;
  const [, moved] = await sendAt(scene, [[0, "bob"], [1000, "ann", session]]);
  assert.equal(moved?.line.connection, "two");
  assert.equal(moved.line.waited_ms, 30_000);
  assert.equal(moved.line.moved_for, "full");
});

Deno.test("a provider that refuses concurrent requests gets fewer at once, without `max_concurrent`", async () => {
  const scene = await openPlans({
    people: ["ann", "bob", "cid", "dan"],
    connections: { one: QUEUE },
    plans: { one: { capacity: 3, serviceMs: () => 2 * SECOND_MS } },
  });
  const people = ["ann", "bob", "cid", "dan"];
  const turns = await scene.pass(Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const all: Turn[] = [];
      for (let turn = 0; turn < 20; turn++) {
        all.push(await scene.ask(people[index % 4] ?? "ann"));
      }
      return all;
    }),
  ));
  const all = turns.flat();
  assert.ok(all.every(({ status }) => status === 200));
  const refusals = scene.plans.one?.refusals ?? 0;
  assert.ok(refusals < 0.2 * all.length, `${refusals} of ${all.length}`);
  const lastMs = Math.max(...all.map(({ endedMs }) => endedMs));
  const leastMs = all.length * 2 * SECOND_MS / 3;
  assert.ok(lastMs < 1.2 * leastMs, `${lastMs / leastMs} of the least time`);
});

Deno.test("waiting requests get the connection's error when it fails", async () => {
  const scene = await narrow(["ann", "bob"]);
  const { one } = scene.plans;
  assert.ok(one);
  const work = (async () => {
    const first = scene.ask("ann");
    const second = scene.ask("bob");
    await scene.time.sleep(1000);
    one.failsWith = 500;
    await first;
    return await second;
  })();
  const { status } = await scene.pass(work);
  assert.equal(status, 500);
  assert.equal(scene.gateway.state().waiting, 0);
});

Deno.test("a request does not wait for another connection after a final error", async () => {
  const slot = { capacity: 1, serviceMs: () => 10 * SECOND_MS };
  const scene = await openPlans({
    people: ["ann"],
    connections: { one: QUEUE, two: QUEUE },
    plans: { one: slot, two: slot },
  });
  const { one } = scene.plans;
  assert.ok(one);
  one.failsWith = 400;
  const { status } = await scene.pass(scene.ask("ann"));
  assert.equal(status, 400);
  assert.deepEqual(scene.served, []);
});

Deno.test("a conversation does not wait for its own connection after a final error", async () => {
  const scene = await openPlans({
    people: ["ann"],
    connections: { one: QUEUE, two: QUEUE },
    plans: {
      one: { capacity: 9, serviceMs: () => 100 },
      two: { capacity: 9, serviceMs: () => 10 * SECOND_MS },
    },
  });
  const { one, two } = scene.plans;
  assert.ok(one && two);
  const headers = { "x-claude-code-session-id": "s" };
  await scene.pass(scene.ask("ann", { headers }));
  one.failsWith = 503;
  scene.time.schedule(1000, () => {
    one.failsWith = undefined;
    two.failsWith = 400;
  });
  const turns = await sendAt(scene, [
    ...[0, 0, 0, 0, 0].map((atMs) => [atMs, "ann"] as const),
    [300, "ann", { headers }],
  ]);
  const last = turns.at(-1);
  assert.ok(last);
  assert.equal(last.status, 400);
  assert.equal(last.line.connection, "two");
  assert.equal(last.endedMs - last.sentMs, 10 * SECOND_MS);
});

Deno.test("at most a hundred requests of one caller wait", async () => {
  const scene = await openPlans({
    people: ["ann"],
    connections: { one: { max_concurrent: 1, queue: { max_wait: 600_000 } } },
    plans: { one: { capacity: 1, serviceMs: () => SECOND_MS } },
  });
  const turns = await sendAt(
    scene,
    Array.from({ length: 103 }, () => [0, "ann"] as const),
  );
  const refused = turns.filter(({ status }) => status === 503);
  assert.equal(refused.length, 2);
});

Deno.test("the reported wait ignores requests that a limit refuses", async () => {
  const scene = await openPlans({
    people: ["ann", "bob"],
    tokens: { bob: { limits: [{ window: "month", requests: 1 }] } },
    connections: { one: { max_concurrent: 1, queue: { max_wait: 35_000 } } },
    plans: { one: { capacity: 1, serviceMs: () => 10 * SECOND_MS } },
  });
  await sendAt(scene, [[0, "ann"], [20_000, "bob"]]);
  const refused = await sendAt(
    scene,
    Array.from({ length: 20 }, () => [0, "bob"] as const),
  );
  assert.ok(refused.every(({ status }) => status === 429));
  const turns = await sendAt(
    scene,
    [0, 1, 2, 3, 4].map((atMs) => [atMs, "ann"] as const),
  );
  const last = turns.at(-1);
  assert.equal(last?.status, 503);
  assert.equal(last.retryAfter, "40");
});

Deno.test("a request from before a reload frees its slot for requests that wait since the reload", async () => {
  const scene = await narrow(["ann", "bob"], {});
  const work = (async () => {
    const running = scene.ask("ann");
    await scene.time.sleep(1000);
    await scene.configure({
      connections: [connectionFile({
        ...{ name: "one", max_concurrent: 1, ...QUEUE },
        endpoints: { chat: "http://one.example/v1" },
      })],
    });
    const next = await scene.ask("bob");
    await running;
    return next;
  })();
  const { status, endedMs } = await scene.pass(work);
  assert.equal(status, 200);
  assert.equal(endedMs, 20 * SECOND_MS);
});

Deno.test("the log names a full connection as the reason of a conversation's move", async () => {
  const scene = await openPlans({
    people: ["ann", "bob", "cid"],
    connections: { one: QUEUE, two: QUEUE },
    plans: {
      one: { capacity: 1, serviceMs: () => SECOND_MS },
      two: { capacity: 9, serviceMs: () => SECOND_MS },
    },
  });
  const { one } = scene.plans;
  assert.ok(one);
  const session = { headers: { "x-claude-code-session-id": "s" } };
  // Two concurrent requests show how many the provider accepts.
  await sendAt(scene, [[0, "ann", session], [0, "bob"], [0, "bob"]]);
  one.serviceMs = () => 100 * SECOND_MS;
  const [, moved] = await sendAt(scene, [
    [2000, "cid"],
    [3000, "ann", session],
  ]);
  assert.equal(moved?.line.connection, "two");
  assert.equal(moved.line.moved_for, "full");
});

Deno.test("a subagent that waits for its session's connection lets people's requests go first for half of the wait", async () => {
  const scene = await openPlans({
    people: ["ann", "bob", "cid"],
    connections: {
      one: { max_concurrent: 1, ...QUEUE },
      two: { max_concurrent: 1, ...QUEUE },
    },
    plans: {
      one: { capacity: 1, serviceMs: () => 10 * SECOND_MS },
      two: { capacity: 1, serviceMs: () => 300 * SECOND_MS },
    },
  });
  const session = { "x-claude-code-session-id": "s" };
  await sendAt(scene, [[0, "ann", { headers: session }]]);
  const headers = { ...session, "x-claude-code-agent-id": "a" };
  const [, , subagent] = await sendAt(scene, [
    [0, "bob"],
    [0, "cid"],
    [100, "ann", { headers }],
    ...[9, 18, 27].map((at) => [at * SECOND_MS, "bob"] as const),
  ]);
  assert.equal(subagent?.status, 200);
  assert.ok(Number(subagent.line.waited_ms) >= 30 * SECOND_MS);
});
