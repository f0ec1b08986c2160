import assert from "node:assert/strict";
import { threadsOf } from "./plan_groups.ts";
import { openPlans, type PlanScene, type Turn } from "./plan_scene.ts";

// What waiting callers share: the memory of bodies, and the places in the line. Who takes most of it gives way.

const SECOND_MS = 1_000;

/** A body, and a memory in which 53 of it fit. */
const BODY = { promptBytes: 12_000 };
const MEMORY_BYTES = 640_000;

/** A connection `busy` of one slot with a queue, and a connection `idle` without. */
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

/** Sends requests that wait for the busy connection, a millisecond after each other. */
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

Deno.test("bodies that wait make room for another caller's, on a connection without a queue", async () => {
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

Deno.test("the caller whose waiting bodies hold the most loses its waits first", async () => {
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

Deno.test("a body that waits makes room though its caller holds less than the new one", async () => {
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

Deno.test("a body makes no room once the wait of its request is over", async () => {
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

/** Twelve people, of whom each has as many requests in a line of a thousand as the others. */
const TWELVE = Array.from({ length: 12 }, (_, index) => `person${index}`);

/** The people of a crowd that fills the line of a connection of one slot. */
const CROWD = ["first", ...times(84, "").flatMap(() => TWELVE)].slice(0, 1001);

Deno.test("a full line takes the request of a caller with none in it, and the newest of the one with the most gives way", async () => {
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
  // Persons 0 to 3 have 84 in the line, the others 83.
  assert.deepEqual(refused, [998, 999, 1000]);
});

Deno.test("a full line refuses the request of the caller who would have the most in it", async () => {
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

Deno.test("a token of twice the weight may have twice as many in a full line", async () => {
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

Deno.test("background work takes no place from requests that people wait for, and one of its own kind from a caller with more", async () => {
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
    ["in a gateway that serves as many requests as it may", {}, {}],
    [
      "at a thread of it",
      { group: threadsOf(2) },
      { at: 1 },
    ],
  ] as const
) {
  Deno.test(`a request takes the place of one that waits, of a caller with more, ${name}`, async () => {
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

Deno.test("nobody gives way to a request that its own token's limit refuses", async () => {
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
