import assert from "node:assert/strict";
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
