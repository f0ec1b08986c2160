import assert from "node:assert/strict";
import { threadsOf } from "./plan_groups.ts";
import { openPlans, type PlanScene, type Turn } from "./plan_scene.ts";

// Waiting callers share the memory of bodies and the places in the queue. The caller with the most gives way.

const SECOND_MS = 1_000;

/** A body, and a memory that holds 53 of them. */
const BODY = { promptBytes: 12_000 };
const MEMORY_BYTES = 640_000;

/** Opens a connection `busy` with one slot and a queue, and a connection `idle` without a queue. */
function openShared(
  people: readonly string[],
  options: Partial<Parameters<typeof openPlans>[0]> = {},
): Promise<PlanScene> {
  const queue = { max_wait: 600_000 };
  return openPlans({
    people,
    connections: {
      busy: { max_concurrent: 1, queue, models: ["model-a"] },
      idle: { models: ["model-b"] },
    },
    plans: {
      busy: { capacity: 1, serviceMs: () => 100 * SECOND_MS },
      idle: { capacity: 99, serviceMs: () => SECOND_MS },
    },
    bodyMemoryBytes: MEMORY_BYTES,
    ...options,
  });
}

/** Sends requests that wait for the busy connection, one each millisecond. */
async function crowd(
  scene: PlanScene,
  people: readonly string[],
  options: Parameters<PlanScene["ask"]>[1] = {},
): Promise<{ readonly ends: readonly Promise<Turn>[] }> {
  const leaving = new AbortController();
  scene.time.schedule(90 * SECOND_MS, () => leaving.abort());
  const ends = [];
  for (const person of people) {
    ends.push(scene.ask(person, { signal: leaving.signal, ...options }));
    await scene.time.sleep(1);
  }
  return { ends };
}

/** Returns how many of these requests got a 503. */
async function refusalsOf(ends: readonly Promise<Turn>[]): Promise<number> {
  const all = await Promise.all(ends);
  return all.filter(({ status }) => status === 503).length;
}

function times(count: number, person: string): string[] {
  return Array.from({ length: count }, () => person);
}

Deno.test("waiting bodies give way to another caller's body, on a connection without a queue", async () => {
  const scene = await openShared(["ann", "bob"]);
  const work = (async () => {
    const { ends } = await crowd(scene, times(53, "ann"), BODY);
    assert.equal(scene.gateway.state().waiting, 52);
    const other = await scene.ask("bob", { ...BODY, model: "model-b" });
    return { other, refused: await refusalsOf(ends), last: await ends.at(-1) };
  })();
  const { other, refused, last } = await scene.pass(work);
  assert.equal(other.status, 200);
  assert.equal(refused, 1, "one wait has ended, and no more");
  assert.equal(last?.status, 503, "it is the newest");
  assert.equal(last.retryAfter, "1");
  assert.match(last.text, /"code":"gateway_overloaded"/);
  assert.equal(last.line.error, "gateway_overloaded");
  assert.ok(Number(last.line.waited_ms) > 0);
  assert.equal(scene.gateway.state().bodyMemoryBytes, 0);
});

Deno.test("the caller whose waiting bodies take the most memory loses waiting requests first", async () => {
  const scene = await openShared(["ann", "bob", "cid"]);
  const work = (async () => {
    const many = await crowd(scene, times(42, "ann"), BODY);
    const few = await crowd(scene, times(11, "bob"), BODY);
    const others = await crowd(scene, times(10, "cid"), {
      ...{ ...BODY, model: "model-b" },
    });
    const ends = [others, many, few].map(({ ends }) => refusalsOf(ends));
    return await Promise.all(ends);
  })();
  assert.deepEqual(await scene.pass(work), [0, 10, 0]);
});

Deno.test("a waiting body gives way to a larger body of another caller", async () => {
  const people = Array.from({ length: 53 }, (_, index) => `person${index}`);
  const scene = await openShared([...people, "bob"]);
  const work = (async () => {
    const { ends } = await crowd(scene, people, BODY);
    const large = { promptBytes: 16_000, model: "model-b" };
    const other = await scene.ask("bob", large);
    return [other.status, await refusalsOf(ends)];
  })();
  assert.deepEqual(await scene.pass(work), [200, 2]);
});

Deno.test("a body does not give way after the wait of its request has ended", async () => {
  const scene = await openShared(["ann", "bob"], {
    bodyMemoryBytes: 4 * BODY.promptBytes,
  });
  const { busy } = scene.plans;
  assert.ok(busy);
  busy.serviceMs = () => 10 * SECOND_MS;
  const work = (async () => {
    const ends = times(3, "ann").map((one) => scene.ask(one, BODY));
    await scene.time.sleep(25 * SECOND_MS);
    const other = { ...BODY, model: "model-b" };
    const others = times(4, "bob").map((one) => scene.ask(one, other));
    return await Promise.all([refusalsOf(ends), refusalsOf(others)]);
  })();
  assert.deepEqual(await scene.pass(work), [0, 2]);
});

/** Twelve people, who share a queue of a thousand requests evenly. */
const TWELVE = Array.from({ length: 12 }, (_, index) => `person${index}`);

/** The senders of the requests that fill the queue of a connection with one slot. */
const CROWD = ["first", ...times(84, "").flatMap(() => TWELVE)].slice(0, 1001);

Deno.test("a full queue accepts a new caller's request, and the largest caller's newest request gives way", async () => {
  const scene = await openShared(["first", ...TWELVE, "ann"], {
    overrides: { server: { max_concurrent_requests: 2000 } },
  });
  const work = (async () => {
    const { ends } = await crowd(scene, CROWD);
    assert.equal(scene.gateway.state().waiting, 1000);
    const { ends: others } = await crowd(scene, times(3, "ann"));
    assert.equal(scene.gateway.state().waiting, 1000);
    const turns = await Promise.all(ends);
    const refused = turns.flatMap(({ status }, at) =>
      status === 503 ? [at] : []
    );
    return { refused, refusedOthers: await refusalsOf(others) };
  })();
  const { refused, refusedOthers } = await scene.pass(work);
  assert.equal(refusedOthers, 0);
  // Persons 0 to 3 have 84 requests in the queue, the others 83.
  assert.deepEqual(refused, [998, 999, 1000]);
});

Deno.test("a full queue refuses a request of the caller with the most requests in it", async () => {
  const scene = await openShared(["first", ...TWELVE], {
    overrides: { server: { max_concurrent_requests: 2000 } },
  });
  const work = (async () => {
    const { ends } = await crowd(scene, CROWD);
    const one = await scene.ask("person0");
    return [one.status, await refusalsOf(ends)];
  })();
  assert.deepEqual(await scene.pass(work), [503, 0]);
});

Deno.test("a token of twice the weight keeps twice as many requests in a full queue", async () => {
  const scene = await openShared(["first", ...TWELVE, "ann"], {
    tokens: { person0: { weight: 2 } },
    overrides: { server: { max_concurrent_requests: 2000 } },
  });
  const work = (async () => {
    const { ends } = await crowd(scene, CROWD);
    const [one] = (await crowd(scene, ["ann"])).ends;
    const turns = await Promise.all(ends);
    const refused = turns.filter(({ status }) => status === 503);
    return [(await one)?.status === 503, refused.map(({ person }) => person)];
  })();
  assert.deepEqual(await scene.pass(work), [false, ["person3"]]);
});

Deno.test("background work displaces only background work of a caller with more requests", async () => {
  const scene = await openShared(["first", ...TWELVE, "ann", "bob"], {
    overrides: { server: { max_concurrent_requests: 2000 } },
  });
  const batch = { headers: { "x-priority": "batch" } };
  const work = (async () => {
    const { ends } = await crowd(scene, CROWD.slice(0, 999));
    const { ends: [own] } = await crowd(scene, ["person5"], batch);
    await crowd(scene, ["person6"]);
    const { ends: [taken] } = await crowd(scene, ["ann"], batch);
    assert.equal((await own)?.status, 503);
    const refused = await scene.ask("bob", batch);
    return [
      refused.status,
      (await taken)?.status === 503,
      await refusalsOf(ends),
    ];
  })();
  assert.deepEqual(await scene.pass(work), [503, false, 0]);
});

for (
  const [name, options, ask] of [
    ["at a full gateway", {}, {}],
    [
      "at a thread of a full gateway",
      { group: threadsOf(2) },
      { at: 1 },
    ],
  ] as const
) {
  Deno.test(`a request displaces a waiting request of a caller with more requests, ${name}`, async () => {
    const scene = await openShared(["ann", "bob", "cid"], {
      overrides: { server: { max_concurrent_requests: 20 } },
      tokens: { ann: { max_concurrent: 20 }, bob: { max_concurrent: 20 } },
      ...options,
    });
    const work = (async () => {
      const { ends } = await crowd(scene, times(18, "ann"), ask);
      const { ends: few } = await crowd(scene, times(2, "bob"), ask);
      const own = await scene.ask("ann", { ...ask, model: "model-b" });
      const other = await scene.ask("cid", { ...ask, model: "model-b" });
      const turns = await Promise.all(ends);
      const refused = turns.flatMap(({ status }, at) =>
        status === 503 ? [at] : []
      );
      return [own.status, other.status, await refusalsOf(few), refused];
    })();
    assert.deepEqual(await scene.pass(work), [503, 200, 0, [17]]);
    assert.equal(scene.gateway.admission.active, 0);
    const again = await scene.pass(scene.ask("bob", { model: "model-b" }));
    assert.equal(again.status, 200);
  });
}

Deno.test("no waiting request gives way to a new request that its own token's limit refuses", async () => {
  const scene = await openShared(["ann", "cid"], {
    overrides: { server: { max_concurrent_requests: 12 } },
    tokens: { ann: { max_concurrent: 20 }, cid: { max_concurrent: 1 } },
  });
  const { idle } = scene.plans;
  assert.ok(idle);
  idle.serviceMs = () => 60 * SECOND_MS;
  const work = (async () => {
    const running = scene.ask("cid", { model: "model-b" });
    const { ends } = await crowd(scene, times(11, "ann"));
    const other = await scene.ask("cid", { model: "model-b" });
    return [other.status, (await running).status, await refusalsOf(ends)];
  })();
  assert.deepEqual(await scene.pass(work), [503, 200, 0]);
});
