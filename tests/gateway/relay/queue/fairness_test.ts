import assert from "node:assert/strict";
import type { Random } from "../../../support/fakes/random.ts";
import { type OpenGroup, replicasOf, threadsOf } from "./plan_groups.ts";
import { openPlans, type PlanScene, type Turn } from "./plan_scene.ts";

// Ten people share one plan, three agents each; one of them also sends a batch. The promises are those of
// docs/failover.md#waiting-for-a-turn.

const PEOPLE = Array.from({ length: 10 }, (_, index) => `person${index}`);
const MINUTE_MS = 60_000;
const MAX_WAIT_MS = 600_000;
const LASTS_MS = 12 * MINUTE_MS;

/** Returns the time of an answer: most are short, some are long. */
function serviceMs(random: Random): number {
  return 2_000 + random.below(8_000) + (random.below(10) === 0 ? 20_000 : 0);
}

/** The gateways between the people and their plan. */
interface World {
  readonly name: string;
  readonly group?: OpenGroup;
  /** The number of gateways that each count `max_concurrent` alone. */
  readonly parts?: number;
  /** The part of the turns whose caller disconnects. */
  readonly leaving?: number;
  /** Schedules events during the run. */
  readonly during?: (scene: PlanScene) => void;
}

const STORE = { group: replicasOf(3), parts: 3 };

const WORLDS: readonly World[] = [
  { name: "one process" },
  { name: "three threads", group: threadsOf(3) },
  { name: "three replicas with a store", ...STORE },
  {
    name: "three replicas with a store, callers who disconnect",
    ...STORE,
    leaving: 0.1,
  },
  {
    name: "three replicas whose store goes away",
    ...STORE,
    during({ time, group }) {
      time.schedule(4 * MINUTE_MS, () => group?.setStore?.(false));
      time.schedule(8 * MINUTE_MS, () => group?.setStore?.(true));
    },
  },
];

/** A plan's concurrent requests, and the pauses of the agents between their turns. */
interface Load {
  readonly capacity: number;
  readonly pauseMs: number;
  readonly seed: number;
  readonly world: World;
}

interface Agent {
  readonly person: string;
  readonly agent: number;
  readonly pauseMs: number;
  readonly leaving: number;
}

/**
 * Runs one agent at one gateway until the end: a turn, a pause for its tools or its person, the next turn. Returns the
 * finished turns.
 */
async function work(
  scene: PlanScene,
  { person, agent, pauseMs, leaving }: Agent,
): Promise<readonly Turn[]> {
  const { time, random } = scene;
  const turns: Turn[] = [];
  const headers = { "x-claude-code-session-id": `${person}-${agent}` };
  const at = random.below(scene.gateways.length);
  await time.sleep(random.below(10_000));
  while (time.elapsedMs() < LASTS_MS) {
    if (leaving > 0 && random.below(1_000) < 1_000 * leaving) {
      const left = new AbortController();
      time.schedule(random.below(20_000), () => left.abort());
      const { signal } = left;
      await scene.ask(person, { headers, at, signal }).catch(() => {});
    } else turns.push(await scene.ask(person, { headers, at }));
    await time.sleep(random.below(pauseMs));
  }
  return turns;
}

/** Sends a batch of 200 concurrent requests, and repeats each until it is served. */
async function runBatch(
  scene: PlanScene,
  person: string,
): Promise<readonly Turn[]> {
  await scene.time.sleep(3 * MINUTE_MS);
  const all = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const turns: Turn[] = [];
      const at = index % scene.gateways.length;
      for (;;) {
        const headers = { "x-priority": "batch" };
        const turn = await scene.ask(person, { headers, at });
        turns.push(turn);
        if (turn.status === 200) return turns;
        await scene.time.sleep(1_000 * Number(turn.retryAfter ?? 1));
      }
    }),
  );
  return all.flat();
}

async function share({ capacity, pauseMs, seed, world }: Load) {
  const { group, parts = 1, leaving = 0, during } = world;
  const scene = await openPlans({
    people: PEOPLE,
    tokens: { person0: { max_concurrent: 256 } },
    connections: {
      one: {
        max_concurrent: capacity / parts,
        queue: { max_wait: MAX_WAIT_MS },
      },
    },
    plans: { one: { capacity, serviceMs } },
    seed,
    ...group && { group },
  });
  during?.(scene);
  const [agents, batch] = await scene.pass(Promise.all([
    Promise.all(
      PEOPLE.flatMap((person) =>
        [0, 1, 2].map((agent) =>
          work(scene, { person, agent, pauseMs, leaving })
        )
      ),
    ),
    runBatch(scene, "person0"),
  ]));
  const turns = agents.flat();
  assert.ok(turns.every(({ status }) => status === 200), "no turn is lost");
  const served = batch.filter(({ status }) => status === 200);
  assert.equal(served.length, 200);
  assert.equal(scene.plans.one?.refusals, 0);
  const longestMs = Math.max(...[...turns, ...served].map(waitOf));
  assert.ok(longestMs <= MAX_WAIT_MS, `${longestMs} ms`);
  return { scene, turns, batch: served };
}

/** Returns the part of the plan that one person used between two moments. Default: everybody. */
function used(
  { served }: PlanScene,
  capacity: number,
  [fromMs, untilMs]: readonly [number, number],
  person?: string,
): number {
  const busyMs = served
    .filter((one) => person === undefined || one.person === person)
    .map((one) => Math.min(one.untilMs, untilMs) - Math.max(one.fromMs, fromMs))
    .reduce((sum, ms) => sum + Math.max(0, ms), 0);
  return busyMs / (capacity * (untilMs - fromMs));
}

/** Returns Jain's index of fairness, which is 1 when all amounts are equal. */
function fairness(amounts: readonly number[]): number {
  const sum = amounts.reduce((one, other) => one + other, 0);
  const squares = amounts.reduce((one, other) => one + other ** 2, 0);
  return sum ** 2 / (amounts.length * squares);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
}

function waitOf({ line }: Turn): number {
  return Number(line.waited_ms ?? 0);
}

const SEEDS = [1];

for (
  const [world, seed] of WORLDS.flatMap((one) =>
    SEEDS.map((seed) => [one, seed] as const)
  )
) {
  Deno.test(`people who overload a plan get equal parts of it, also the one with a batch: ${world.name}, seed ${seed}`, async () => {
    const capacity = 9;
    const { scene } = await share({ capacity, pauseMs: 4_000, seed, world });
    const shares = PEOPLE.map((person) =>
      used(scene, capacity, [MINUTE_MS, LASTS_MS], person)
    );
    const part = used(scene, capacity, [MINUTE_MS, LASTS_MS]);
    assert.ok(fairness(shares) >= 0.95, `${fairness(shares)}`);
    assert.ok(part >= 0.98, `${part} of the plan is used`);
  });

  Deno.test(`a batch uses the rest of a plan and delays nobody's requests: ${world.name}, seed ${seed}`, async () => {
    const capacity = 12;
    const { scene, turns, batch } = await share({
      ...{ capacity, pauseMs: 40_000, seed, world },
    });
    const peopleMs = quantile(turns.map(waitOf), 0.95);
    const batchMs = quantile(batch.map(waitOf), 0.95);
    // The part of the batch at one gateway may end before that at another.
    const lastMs = Math.min(
      ...Map.groupBy(batch, ({ at }) => at).values()
        .map((part) => quantile(part.map(({ endedMs }) => endedMs), 0.9)),
    );
    const part = used(scene, capacity, [4 * MINUTE_MS, lastMs]);
    assert.ok(peopleMs <= batchMs / 10, `${peopleMs} and ${batchMs} ms`);
    assert.ok(part >= 0.98, `${part} of the plan is used`);
  });
}
