import { createRandom } from "../../support/fakes/random.ts";
import type { History } from "../history.ts";
import { LESSON_PROMISES } from "../lesson_promises.ts";
import { brokenPromises } from "../promises.ts";
import { scrape } from "../world/scrape.ts";
import { takeOver } from "../world/platform.ts";
import { VirtualTime } from "../world/time.ts";
import { Trace } from "../world/trace.ts";
import { EXCHANGE_SCENES } from "./exchange.ts";
import { FAILOVER_SCENES } from "./failover.ts";
import { HEALTH_SCENES } from "./health.ts";
import { IDENTITY_SCENES } from "./identity.ts";
import { LESSON_SCENES } from "./lessons.ts";
import { LIMIT_SCENES } from "./limits.ts";
import { POOL_SCENES } from "./pool.ts";
import { QUEUE_SCENES } from "./queue.ts";
import { SILENCE_SCENES } from "./silence.ts";
import { STORE_SCENES } from "./store.ts";
import { type Scene, Stage } from "./stage.ts";

/** The scenes by group and name. */
const SCENE_GROUPS: Readonly<Record<string, Readonly<Record<string, Scene>>>> =
  {
    relay: { ...FAILOVER_SCENES, ...SILENCE_SCENES },
    routing: HEALTH_SCENES,
    upstream: POOL_SCENES,
    usage: LIMIT_SCENES,
    shared: STORE_SCENES,
    identity: IDENTITY_SCENES,
    queue: QUEUE_SCENES,
    exchange: EXCHANGE_SCENES,
    lessons: LESSON_SCENES,
  };

/** All scenes by name. */
export const SCENES: Readonly<Record<string, Scene>> = Object.assign(
  {},
  ...Object.values(SCENE_GROUPS),
);

/**
 * Returns the names of scenes.
 *
 * @param wanted `all`, a group, or a regular expression for the names.
 */
export function sceneNames(wanted: string): string[] {
  const own = wanted === "all" ? SCENES : SCENE_GROUPS[wanted];
  if (own !== undefined) return Object.keys(own);
  const names = Object.keys(SCENES);
  return names.includes(wanted)
    ? [wanted]
    : names.filter((name) => new RegExp(wanted).test(name));
}

/** The time in which a scene must end, in milliseconds. */
const HORIZON_MS = 4 * 24 * 3600_000;

/** The quiet time after a scene, in milliseconds: longer than an idle connection is kept. */
const QUIET_MS = 2_400_000;

/** The quiet time before gateways leave their store, in milliseconds: longer than they need to reconnect. */
const BACK_MS = 10_000;

/**
 * Runs a scene.
 *
 * @param seed Chooses what the scene leaves open.
 */
export async function runScene(name: string, seed: number): Promise<History> {
  const scene = SCENES[name];
  if (scene === undefined) throw new Error(`There is no scene "${name}"`);
  const random = createRandom(seed);
  const time = new VirtualTime();
  const trace = new Trace(() => time.elapsedMs());
  // Reading the configuration needs the real clock.
  const stage = await Stage.open({ time, random, trace }, scene);
  const giveBack = takeOver(time, createRandom(~seed));
  const unhandled: unknown[] = [];
  const onUnhandled = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", onUnhandled);
  try {
    for (const replica of stage.replicas) await replica.start();
    if (stage.hasStore) await time.run(1000, () => false);
    const broken: string[] = [];
    let isOver = false;
    scene.run(stage).catch((cause) => {
      broken.push(`${name}: ${cause instanceof Error ? cause.message : cause}`);
    }).finally(() => isOver = true);
    await time.run(HORIZON_MS, () => isOver);
    if (!isOver) broken.push(`${name}: it does not end`);
    for (const provider of stage.providers) provider.recover();
    stage.endExchange();
    if (stage.hasStore) {
      stage.store.recover();
      await time.run(time.elapsedMs() + BACK_MS, () => false);
    }
    const closing = stage.replicas.map(({ running }) => running?.closeStore());
    await time.run(time.elapsedMs() + QUIET_MS, () => false);
    await Promise.all(closing);
    const { ledger, providers, agents, asked, log, config, replicas } = stage;
    const world = {
      ...{ time, trace, log, agents, providers, ledger, asked, config },
      ...{ replicas, looks: [], counts: [], checked: [], unhandled },
      process: stage.process,
      alerts: stage.receiver.received,
      metrics: await scrape(replicas),
      store: stage.hasStore ? stage.store : undefined,
    };
    broken.push(
      ...brokenPromises(world, scene.judgesAlone ? LESSON_PROMISES : undefined),
    );
    return {
      ...{ seed, requests: asked.length, virtualMs: time.elapsedMs() },
      ...{ digest: trace.digest, broken, trace, actors: [] },
    };
  } finally {
    for (const { running } of stage.replicas) running?.end();
    giveBack();
    globalThis.removeEventListener("unhandledrejection", onUnhandled);
  }
}
