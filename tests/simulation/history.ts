import type { JsonObject } from "../../src/base/json.ts";
import type { Config } from "../../src/gateway/config/config.ts";
import { createLiveConfig } from "../../src/gateway/config/live_config.ts";
import {
  createMemoryLog,
  type MemoryLog,
} from "../support/fakes/memory_log.ts";
import type { Sample } from "../support/gateway/exposition.ts";
import { createRandom, type Random } from "../support/fakes/random.ts";
import { minimalConfig } from "../support/gateway/config.ts";
import { brokenPromises } from "./promises.ts";
import { type Agent, ask, type Asked } from "./world/caller.ts";
import { type Look, look } from "./world/look.ts";
import {
  CHECKER,
  createAgents,
  createFile,
  createProviders,
  ownModel,
  withoutToken,
  withRegions,
  withSessionLimits,
} from "./world/file.ts";
import { createQuotaFetch } from "./world/quota.ts";
import {
  createSimulatedDial,
  type LedgerEntry,
  type SimulatedProvider,
} from "./world/provider.ts";
import { runSession } from "./world/people.ts";
import { takeOver } from "./world/platform.ts";
import { ALERTS, SimulatedReceiver } from "./world/receiver.ts";
import { Replica } from "./world/replica.ts";
import { SimulatedStore } from "./world/store.ts";
import { SimulatedProcess } from "./world/threads.ts";
import { scrape } from "./world/scrape.ts";
import { Streams } from "./world/streams.ts";
import { VirtualTime } from "./world/time.ts";
import { Trace } from "./world/trace.ts";

/** The record of a history, on which the promises are checked. */
export interface World {
  readonly time: VirtualTime;
  readonly trace: Trace;
  /** The log of all replicas. */
  readonly log: MemoryLog;
  readonly replicas: readonly Replica[];
  /** The store of the replicas, if they share one. */
  readonly store: SimulatedStore | undefined;
  /** The process whose threads the replicas are; absent for separate processes. */
  readonly process: SimulatedProcess | undefined;
  readonly config: Config;
  readonly agents: readonly Agent[];
  readonly providers: readonly SimulatedProvider[];
  readonly ledger: readonly LedgerEntry[];
  readonly asked: readonly Asked[];
  /** The delivered alerts. */
  readonly alerts: readonly JsonObject[];
  /** The responses of `/usage`, `/limits` and `/models` during the history, and of `/usage` for everyone at the end. */
  readonly looks: readonly Look[];
  readonly counts: readonly Look[];
  /** The metrics of all processes. */
  readonly metrics: readonly Sample[];
  /** The last requests, one for each slot of each provider. All providers are healthy by then. */
  readonly checked: readonly Asked[];
  /** Unhandled rejections, and reads of usage that did not end. */
  readonly unhandled: readonly unknown[];
}

/** The result of one history. */
export interface History {
  readonly seed: number;
  readonly requests: number;
  readonly virtualMs: number;
  /** A hash of all events: equal for two runs of one seed. */
  readonly digest: number;
  /** The broken promises, a line each. */
  readonly broken: readonly string[];
  readonly trace: Trace;
  /** The names of the sessions and events that can be left out, in the order in which they began. */
  readonly actors: readonly string[];
}

/** The time in which all sessions must end, in milliseconds: ten times what they need. */
const HORIZON_MS = 10 * 24 * 3600_000;

/** The quiet time at the end, in milliseconds: longer than an idle connection is kept. */
const QUIET_MS = 2_400_000;

/** The size of a history, and what is left out of it. */
export interface Scale {
  /** The span within which sessions begin, in minutes. */
  readonly minutes: number;
  readonly sessions: number;
  /** The number of people; a few by default. */
  readonly people?: number;
  /** The names of the only sessions and events that happen, such as `session-3` and `end-of-replica-0-1`; default: all. */
  readonly kept?: readonly string[];
}

/** The usual size: fifty sessions. */
export const USUAL_SCALE: Scale = { minutes: 30, sessions: 50 };

/** The most requests of one session. A request's number is this times the session's number, plus its own index. */
const MOST_REQUESTS = 1000;

/**
 * Runs one history: real gateways and HTTP clients, simulated callers, providers and a store, on a virtual clock.
 *
 * @param seed Decides everything random.
 */
export async function runHistory(
  seed: number,
  scale: Scale = USUAL_SCALE,
): Promise<History> {
  const time = new VirtualTime(createRandom(seed).below(40 * 24 * 3600_000));
  const streams = new Streams(seed, time.elapsedMs);
  const random = streams.of("the world");
  const trace = new Trace(() => time.elapsedMs());
  const ledger: LedgerEntry[] = [];
  const providers = createProviders(
    { time, streams, trace, ledger },
    random,
  );
  const people = createAgents(random, scale.people);
  const agents = [...people, CHECKER];
  const limited = withSessionLimits(
    withRegions(
      createFile(providers, agents, random),
      streams.of("the regions"),
    ),
    streams.of("the limits of sessions"),
  );
  const file = { ...limited, alerts: ALERTS };
  const config = await minimalConfig(file);
  const store = random.below(2) === 0
    ? new SimulatedStore({
      ...{ time, trace },
      random: streams.atMoments("the store"),
    })
    : undefined;
  // Replicas poll the store seven times a second. That is slow to simulate, so these histories are shorter.
  const minutes = store === undefined ? scale.minutes : scale.minutes / 6;
  const log = createMemoryLog();
  const receiver = new SimulatedReceiver(time);
  const fetch = receiver.over(createQuotaFetch(providers, {
    time,
    random: streams.atMoments("quotas"),
  }));
  const isThreaded = store === undefined && random.below(3) === 0;
  const liveConfig = createLiveConfig(config);
  const process = isThreaded
    ? new SimulatedProcess({ time, log, fetch, liveConfig })
    : undefined;
  const most = store === undefined ? isThreaded ? 3 : 1 : 4;
  const replicas = Array.from(
    { length: 1 + random.below(most) },
    (_, at) => {
      const name = `replica-${at}`;
      const random = streams.atMoments(name);
      return new Replica({
        ...{ name, time, random, trace, log, config, store, process, fetch },
        dial: createSimulatedDial(providers),
      });
    },
  );
  const asked: Asked[] = [];
  const looks: Look[] = [];
  const unhandled: unknown[] = [];
  const onUnhandled = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", onUnhandled);
  const giveBack = takeOver(time, streams.atMoments("the program"));
  const actors: string[] = [];
  const { kept } = scale;
  const happens = (actor: string) => {
    actors.push(actor);
    return kept === undefined || kept.includes(actor);
  };
  try {
    for (const replica of replicas) await replica.start();
    const sceneOf = (actor: string, place: number) => {
      let requests = 0;
      return {
        ...{ replicas, time, trace, asked, looks, random: streams.of(actor) },
        nextNumber: () => MOST_REQUESTS * place + requests++,
      };
    };
    const sessions = Array.from({ length: scale.sessions }, async (_, at) => {
      const actor = `session-${at}`;
      const scene = sceneOf(actor, at);
      await time.sleep(scene.random.below(minutes * 60_000));
      if (happens(actor)) await runSession(scene.random.pick(people), scene);
    });
    let isDone = false;
    const done = Promise.all(sessions).then(() => isDone = true);
    const weather = { time, streams, trace, happens, isOver: () => isDone };
    startWeather({ ...weather, providers });
    const swap = async (next: typeof limited) => {
      const config = await minimalConfig(next);
      for (const { configs } of replicas) configs.swap(config);
      liveConfig.swap(config);
    };
    startReloads(weather, async (random) => {
      if (random.below(3) === 0) {
        const { name } = random.pick(people);
        trace.note(`${name} has no token`);
        await swap(withoutToken(file, name));
        await time.sleep(random.below(30_000));
      }
      await swap(file);
    });
    startCrashes({ ...weather, random, replicas, store }, minutes);
    await time.run(HORIZON_MS, () => isDone);
    if (isDone) await done;
    for (const provider of providers) provider.recover();
    store?.recover();
    await time.run(
      time.elapsedMs() + (store === undefined ? QUIET_MS : STORE_QUIET_MS),
      () => false,
    );
    for (const replica of replicas) {
      if (replica.running === undefined) await replica.start();
    }
    await time.run(time.elapsedMs() + 1000, () => false);
    // Nothing here waits for these requests: a promise reports those that do not end.
    const scene = sceneOf("the end", scale.sessions);
    const beforeChecks = asked.length;
    // The first requests end all cool-downs, the next ones fill every slot of each replica. Threads share their slots.
    const gates = process === undefined ? replicas : replicas.slice(0, 1);
    for (const isAll of [false, true]) {
      for (const { name, maxConcurrent = 1 } of config.connections) {
        for (let slot = 0; slot < (isAll ? maxConcurrent : 1); slot++) {
          for (const replica of gates) {
            void ask({
              ...{ agent: CHECKER, session: `check-${slot}`, protocol: "chat" },
              ...{ model: ownModel({ name }), isStream: false },
              ...{ isPatient: true, isPrompt: true },
            }, { ...scene, replicas: [replica] });
          }
        }
      }
      await time.run(
        time.elapsedMs() + STORE_QUIET_MS,
        () =>
          asked.slice(beforeChecks)
            .every(({ ending }) => ending !== undefined),
      );
    }
    const checked = asked.slice(beforeChecks);
    await time.run(time.elapsedMs() + COUNT_MS, () => false);
    const beforeCounts = looks.length;
    for (const replica of replicas) {
      for (const agent of people) {
        void look({ agent, path: "usage", replica }, scene);
      }
    }
    await time.run(time.elapsedMs() + COUNT_MS, () => false);
    const counts = looks.slice(beforeCounts);
    if (counts.length < replicas.length * people.length) {
      unhandled.push(new Error("Somebody's usage has no end"));
    }
    const closing = replicas.map(({ running }) => running?.closeStore());
    await time.run(time.elapsedMs() + QUIET_MS, () => false);
    await Promise.all(closing);
    const world: World = {
      ...{ time, trace, log, replicas, store, process, config, agents },
      providers,
      ...{ ledger, asked, looks, counts, checked, unhandled },
      metrics: await scrape(replicas),
      alerts: receiver.received,
    };
    return {
      seed,
      requests: asked.length,
      virtualMs: time.elapsedMs(),
      digest: trace.digest,
      broken: brokenPromises(world),
      ...{ trace, actors },
    };
  } finally {
    for (const { running } of replicas) running?.end();
    giveBack();
    globalThis.removeEventListener("unhandledrejection", onUnhandled);
  }
}

/** The time until all counts have arrived, and the time in which all read their usage, in milliseconds. */
const COUNT_MS = 20_000;

/**
 * The quiet time before replicas leave their store, in milliseconds: longer than any reservation, and than the wait for
 * the probe of a quota that had been used up.
 */
const STORE_QUIET_MS = 310_000;

/** Crashes, restarts and drains replicas, and troubles their store, at random moments. */
function startCrashes(
  { replicas, store, random, ...weather }: Weather & {
    readonly random: Random;
    readonly replicas: readonly Replica[];
    readonly store: SimulatedStore | undefined;
  },
  minutes: number,
): void {
  const { time, trace } = weather;
  const mostMs = minutes * 40_000;
  const isRough = random.below(2) === 0;
  if (store !== undefined && isRough) {
    repeat(weather, "trouble-of-the-store", mostMs / 2, () => store.trouble());
  }
  if (random.below(2) === 0) return;
  for (const replica of replicas) {
    repeat(weather, `end-of-${replica.name}`, mostMs, async (random) => {
      if (replica.running === undefined) return;
      if (random.below(3) === 0) await replica.stop();
      else replica.crash();
      await time.sleep(random.below(5000));
      trace.note(`${replica.name} starts`);
      await replica.start();
    });
  }
}

interface Weather {
  readonly time: VirtualTime;
  readonly streams: Streams;
  readonly trace: Trace;
  readonly isOver: () => boolean;
  /** Returns false for an event that this run leaves out. */
  readonly happens: (actor: string) => boolean;
}

/** Changes the moods of the providers, and breaks their connections, at random moments. */
function startWeather(
  { providers, ...weather }: Weather & {
    readonly providers: readonly SimulatedProvider[];
  },
): void {
  for (const provider of providers) {
    const { name } = provider;
    repeat(weather, `mood-of-${name}`, 600_000, () => provider.changeMood());
    repeat(
      weather,
      `break-of-${name}`,
      1_800_000,
      (random) => provider.breakSockets(random.below(2) === 0),
    );
  }
}

function startReloads(
  weather: Weather,
  reload: (random: Random) => Promise<void>,
): void {
  repeat(weather, "reload", 1_200_000, (random) => {
    weather.trace.note("the configuration is read again");
    void reload(random);
  });
}

/** Repeats events of one kind at random moments. Each has a name of its own, such as `reload-2`. */
function repeat(
  { time, streams, isOver, happens }: Weather,
  kind: string,
  mostMs: number,
  change: (random: Random) => void | Promise<void>,
): void {
  const rhythm = streams.of(kind);
  const plan = (number: number) =>
    time.schedule(rhythm.below(mostMs), () => {
      if (isOver()) return;
      const actor = `${kind}-${number}`;
      if (happens(actor)) void change(streams.of(actor));
      plan(number + 1);
    });
  plan(1);
}
