import type { Connection } from "../../src/gateway/config/config.ts";
import type { World } from "./history.ts";
import { attemptsOf, lineOf, objects, type Promised } from "./look_ups.ts";
import type { Asked } from "./world/caller.ts";
import { isLimited } from "./usage_promises.ts";

/** The time that a dial, a body of many kilobytes and a store take before an attempt, in milliseconds. */
const WAY_MS = 3000;

/** The time after which a request that waits for a limit asks for it again, as `src/gateway/relay/queue/queue.ts` has it. */
const LOOK_AGAIN_MS = 5000;

/**
 * The time of a look in a store, in milliseconds. A person in line for a minute waits a second longer for all of them,
 * and has the limit's room as soon as it is there. Two questions for each of four connections, of two ways of 5 ms.
 */
const LOOK_MS = 80;

/** The time in which a free slot is given to those who wait, other threads included, in milliseconds. */
const TURN_MS = 700;

/** The most requests that wait in all. */
const MOST_WAITING = 1000;

/** The time after which a caller who takes nothing is cut while others wait, and that between two looks, in milliseconds. */
const STOPPED_MS = 60_000;
const STOPPED_LOOK_MS = 5000;

/** The time for which an idle connection is kept, and no longer used than it, in milliseconds. */
const IDLE_MS = 30_000;

/** What docs/failover.md promises of those who wait for their turn. */
export const QUEUE_PROMISES: Readonly<Record<string, Promised>> = {
  "nobody waits for longer than `max_wait`": function* (world) {
    for (const one of world.asked) {
      const waits = connectionsOf(one, world)
        .map(({ queue }) => queue?.maxWaitMs ?? 0);
      const { waited_ms: waitedMs = 0 } = lineOf(one, world) ?? {};
      if (Number(waitedMs) > Math.max(0, ...waits) + 5) {
        yield `#${one.number} waited ${waitedMs} ms of ${waits}`;
      }
    }
  },
  "`waited_ms` is the time that a request waited": function* (world) {
    for (const one of world.asked) {
      const line = lineOf(one, world);
      const { sentMs, endedMs, outputMs = endedMs } = one;
      if (line === undefined || sentMs === undefined) continue;
      const entries = attemptsOf(one, world);
      const waitedMs = Number(line.waited_ms ?? 0);
      const idleMs = entries.reduce(
        (ms, { receivedMs, endedMs = Infinity }) =>
          ms - Math.max(0, Math.min(endedMs, outputMs ?? 0) - receivedMs),
        (outputMs ?? 0) - sentMs,
      );
      if (waitedMs > idleMs + 5) {
        yield `#${one.number} waited ${idleMs} ms at most, and the log has ${waitedMs}`;
      }
      // An attempt that opened no connection is in the log alone.
      const isWhole = objects(line.attempts).length <= entries.length;
      const firstMs = entries[0]?.receivedMs ?? one.respondedMs ?? sentMs;
      const silentMs = firstMs - sentMs - waitedMs;
      // Without a model, the request was refused before its body was read.
      const isTried = entries.length > 0 ||
        line.connection === undefined && line.model !== undefined;
      const looks = Math.ceil(waitedMs / LOOK_AGAIN_MS);
      const lookMs = world.store === undefined ? 0 : LOOK_MS;
      // While a dial hangs, the next connection that another request gives back serves: no attempt failed.
      // A person sees nothing for that time, at most `connect`, and has the sooner of two connections: acceptable.
      const places = connectionsOf(one, world).map(({ name }) => name);
      const hungMs = hungIn(sentMs, firstMs, { world, places });
      const isLate = silentMs > WAY_MS + looks * lookMs + hungMs;
      if (isWhole && isTried && isLate && one.ending !== "lost") {
        yield `#${one.number} did nothing for ${silentMs} ms, and the log has ${waitedMs}`;
      }
    }
  },
  "no slot is free while somebody waits for it": function* (world) {
    for (const { connection, waits, isOfProcess } of sureQueues(world)) {
      const { name, maxConcurrent = Infinity } = connection;
      const used = world.asked.flatMap((one) => {
        const untilMs = one.endedMs ?? Infinity;
        const unseen = mayBeUnseen(one, connection, world)
          ? [{ one, fromMs: one.startedMs, untilMs }]
          : [];
        const seen = attemptsOf(one, world)
          .filter(({ provider }) => provider === name)
          .map(({ receivedMs, endedMs = Infinity }) => ({
            ...{ one, fromMs: receivedMs - TURN_MS },
            untilMs: Math.max(endedMs, untilMs),
          }));
        return [...unseen, ...seen];
      });
      for (const { one, fromMs, untilMs } of waits) {
        const busy = used.filter((other) =>
          isOfProcess(one, other.one) && one !== other.one &&
          other.untilMs > fromMs && other.fromMs < untilMs
        );
        const free = longestFreeMs(busy, { fromMs, untilMs, maxConcurrent });
        if (free > TURN_MS) {
          yield `#${one.number} waited, and ${name} had a free slot for ${free} ms`;
        }
      }
    }
  },
  "background work has its turn after people": function* (world) {
    for (const { connection, waits, isOfProcess } of sureQueues(world)) {
      const halfMs = (connection.queue?.maxWaitMs ?? 0) / 2;
      for (const { one, fromMs, untilMs } of waits) {
        const isEarly = untilMs - fromMs < halfMs - TURN_MS;
        if (!one.isBackground || !isEarly || !wasServed(one, world)) continue;
        const passed = waits.find((other) =>
          !other.one.isBackground && isOfProcess(one, other.one) &&
          other.fromMs < untilMs - TURN_MS && other.untilMs > untilMs + TURN_MS
        );
        if (passed !== undefined) {
          yield `#${one.number} had its turn before #${passed.one.number}`;
        }
      }
    }
  },
  "a caller who stops reading keeps no slot from others for longer than a minute":
    function* (world) {
      const { config, process } = world;
      for (const one of world.asked) {
        const { pausesForMs = 0, outputMs = Infinity, startedMs } = one;
        const entry = attemptsOf(one, world).at(-1);
        const connection = config.connections
          .find(({ name }) => name === entry?.provider);
        if (pausesForMs === 0 || connection === undefined) continue;
        const { total_ms: tookMs = Infinity } = lineOf(one, world) ?? {};
        const pauseMs = Math.min(
          outputMs + pausesForMs,
          startedMs + Number(tookMs),
        );
        for (const wait of waitsFor(connection, world)) {
          const isOfProcess = process !== undefined ||
            wait.one.replica === one.replica;
          const dueMs = Math.max(outputMs + STOPPED_MS, wait.fromMs) +
            STOPPED_LOOK_MS + TURN_MS;
          if (isOfProcess && dueMs < Math.min(wait.untilMs, pauseMs)) {
            yield `#${one.number} took nothing, and #${wait.one.number} waited`;
          }
        }
      }
    },
  "no line and no gateway is full for who has fewer in the line than another":
    function* (world) {
      const weights = [...world.config.callers.values()]
        .map(({ weight }) => weight);
      if (weights.some((weight) => weight !== 1)) return;
      for (const one of world.asked) {
        const { limit, waited_ms: waitedMs } = lineOf(one, world) ?? {};
        if (one.status !== 503 || waitedMs || one.isBackground) continue;
        const waits = waitsAtEnd(one, world);
        const isFull = String(limit).includes("requests of the gateway") ||
          waits.length >= MOST_WAITING;
        if (!isFull) continue;
        const counts = Map.groupBy(waits, (wait) => wait.one.agent.name);
        const own = counts.get(one.agent.name)?.length ?? 0;
        for (const [name, { length }] of counts) {
          if (length > own + 1) {
            yield `#${one.number} is refused with ${own} in the line, and ${name} has ${length}`;
          }
        }
      }
    },
  "no new body is refused while bodies that wait hold most of the memory":
    function* (world) {
      const { maxBodyMemoryBytes } = world.config.server;
      for (const one of world.asked) {
        const { limit, waited_ms: waitedMs } = lineOf(one, world) ?? {};
        if (!String(limit).includes("memory for bodies") || waitedMs) continue;
        const heldBytes = waitsAtEnd(one, world)
          .filter((wait) => wait.one.agent.name !== one.agent.name)
          .map((wait) => Number(lineOf(wait.one, world)?.bytes_in ?? 0))
          .reduce((sum, bytes) => sum + bytes, 0);
        if (heldBytes > maxBodyMemoryBytes / 2) {
          yield `#${one.number} is refused, and others wait with ${heldBytes} bytes`;
        }
      }
    },
  "requests of one session have their turns in their order": function* (world) {
    for (const { waits, isOfProcess } of sureQueues(world)) {
      for (const { one, fromMs, untilMs } of waits) {
        const passed = waits.find((other) =>
          other.one.conversation === one.conversation &&
          !one.isBackground && !other.one.isBackground &&
          isOfProcess(one, other.one) && wasServed(one, world) &&
          other.fromMs < fromMs - TURN_MS && other.untilMs > untilMs + TURN_MS
        );
        if (passed !== undefined) {
          yield `#${one.number} had its turn before #${passed.one.number}`;
        }
      }
    }
  },
};

/** A request that waits, and when. */
interface Wait {
  readonly one: Asked;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Returns the waits that the log has, each with its time. */
function* waitsIn(world: World): Iterable<Wait> {
  for (const one of world.asked) {
    const waitedMs = Number(lineOf(one, world)?.waited_ms ?? 0);
    if (waitedMs === 0) continue;
    const [entry] = attemptsOf(one, world);
    const untilMs = entry?.receivedMs ?? one.leftMs ?? one.endedMs ?? 0;
    yield { one, fromMs: untilMs - waitedMs, untilMs };
  }
}

/** Returns the waits of requests that a connection alone could serve, and that it was sent once at most. */
function waitsFor(connection: Connection, world: World): readonly Wait[] {
  return [...waitsIn(world)].filter(({ one }) => {
    const isAlone = connectionsOf(one, world).length === 1 &&
      connectionsOf(one, world)[0] === connection;
    const isSingle = attemptsOf(one, world).length < 2 &&
      lineOf(one, world)?.attempts === undefined;
    return isAlone && isSingle && !isLimited(one, world);
  });
}

/** Returns the waits at a process at the end of a request. */
function waitsAtEnd(
  { replica, endedMs = 0 }: Asked,
  world: World,
): readonly Wait[] {
  return [...waitsIn(world)].filter(({ one, fromMs, untilMs }) =>
    one.replica === replica && fromMs < endedMs && endedMs < untilMs
  );
}

/** A connection that alone serves its models and never failed, with those who waited for its slots. */
interface SureQueue {
  readonly connection: Connection;
  readonly waits: readonly Wait[];
  /** Returns true when a request takes the slots of the process at which another one waits. */
  readonly isOfProcess: (one: Asked, other: Asked) => boolean;
}

function* sureQueues(world: World): Iterable<SureQueue> {
  const { config, process, log } = world;
  const asked = new Map(world.asked.map((one) => [one.number, one]));
  for (const connection of config.connections) {
    const { name, queue, maxConcurrent } = connection;
    if (queue === undefined || maxConcurrent === undefined) continue;
    const hasFailed = world.ledger.some((entry) => {
      const { provider, request, status = 200, isWhole } = entry;
      const { leftMs, ending } = asked.get(request) ?? {};
      const isLeft = leftMs !== undefined || ending === "lost";
      return provider === name && (status !== 200 || !isWhole && !isLeft);
    });
    const wasMissed = log.entries.some(({ fields }) =>
      [fields, ...objects(fields.attempts)].some((one) =>
        one.connection === name && one.failure !== undefined
      )
    );
    if (hasFailed || wasMissed) continue;
    const waits = waitsFor(connection, world);
    yield {
      ...{ connection, waits },
      isOfProcess: (one, other) =>
        process !== undefined || one.replica === other.replica,
    };
  }
}

/**
 * Returns true when a request may have used a slot although its connection hung or had fallen silent. A person in line
 * waits for its deadline, `connect` or `first_byte`, and would accept that: the provider may be at work on it.
 */
function mayBeUnseen(
  one: Asked,
  connection: Connection,
  world: World,
): boolean {
  const { startedMs, endedMs = Infinity, ending } = one;
  const mayHang = world.providers.some(({ name, lostMs, hung }) =>
    name === connection.name &&
    (lostMs.some((ms) => ms < endedMs && ms > startedMs - IDLE_MS) ||
      hung.some((dial) => dial.startedMs < endedMs && dial.endedMs > startedMs))
  );
  if (!mayHang || attemptsOf(one, world).length > 0) return false;
  const line = lineOf(one, world);
  return line === undefined
    ? ending === "lost" && connectionsOf(one, world).includes(connection)
    : line.connection === connection.name;
}

/** Returns the longest time of a span for which a dial to one of the places hung, in milliseconds. */
function hungIn(
  fromMs: number,
  untilMs: number,
  { world: { providers }, places }: {
    readonly world: World;
    readonly places: readonly string[];
  },
): number {
  const own = providers.filter(({ name }) => places.includes(name));
  const times = own.flatMap(({ hung }) =>
    hung.map(({ startedMs, endedMs }) =>
      Math.min(endedMs, untilMs) - Math.max(startedMs, fromMs)
    )
  );
  return Math.max(0, ...times);
}

/** Returns the connections that may serve a request, those of fallbacks included. */
function connectionsOf(
  { model }: Asked,
  { config: { connections } }: World,
): readonly Connection[] {
  const own = connections.flatMap(({ models }) =>
    models.filter(({ id }) => id === model)
  );
  const names = new Set([
    model,
    ...own.flatMap(({ fallbacks }) => fallbacks),
  ]);
  return connections.filter(({ models }) =>
    models.some(({ id }) => names.has(id))
  );
}

function wasServed(one: Asked, world: World): boolean {
  return attemptsOf(one, world).length > 0;
}

/** Returns the longest time in which fewer slots than there are were in use, in milliseconds. */
function longestFreeMs(
  busy: readonly { readonly fromMs: number; readonly untilMs: number }[],
  { fromMs, untilMs, maxConcurrent }: {
    readonly fromMs: number;
    readonly untilMs: number;
    readonly maxConcurrent: number;
  },
): number {
  const changes = busy.flatMap((one) => [
    { atMs: Math.max(one.fromMs, fromMs), by: 1 },
    { atMs: Math.min(one.untilMs, untilMs), by: -1 },
  ]).sort((one, other) => one.atMs - other.atMs || other.by - one.by);
  let longestMs = 0;
  let count = 0;
  let freeSinceMs: number | undefined = fromMs;
  for (const { atMs, by } of changes) {
    count += by;
    if (count >= maxConcurrent) {
      longestMs = Math.max(longestMs, atMs - (freeSinceMs ?? atMs));
      freeSinceMs = undefined;
    } else freeSinceMs ??= atMs;
  }
  return Math.max(longestMs, untilMs - (freeSinceMs ?? untilMs));
}
