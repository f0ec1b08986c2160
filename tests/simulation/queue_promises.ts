import type { Connection } from "../../src/gateway/config/config.ts";
import type { World } from "./history.ts";
import { attemptsOf, lineOf, objects, type Promised } from "./look_ups.ts";
import type { Asked } from "./world/caller.ts";
import { isLimited } from "./usage_promises.ts";

/** The longest time before an attempt for its dial, its body and the store, in milliseconds. */
const WAY_MS = 3000;

/**
 * The pause after which a request that waits for a limit tries to reserve again: see
 * `src/gateway/relay/queue/queue.ts`.
 */
const LOOK_AGAIN_MS = 5000;

/**
 * The longest time of one such retry, in milliseconds: for each of four connections two round trips to the store of 10
 * ms. In a minute of waiting, the retries add a second.
 */
const LOOK_MS = 80;

/** The longest time in which a free slot goes to a waiting request, even of another thread, in milliseconds. */
const TURN_MS = 700;

/** The most requests that may wait at one gateway. */
const MOST_WAITING = 1000;

/**
 * The time after which a caller that reads nothing is cut while others wait, and the time between two checks, in
 * milliseconds.
 */
const STOPPED_MS = 60_000;
const STOPPED_LOOK_MS = 5000;

/** The longest time for which an idle connection is kept and used again, in milliseconds. */
const IDLE_MS = 30_000;

/** The promises of docs/failover.md about requests that wait for their turn. */
export const QUEUE_PROMISES: Readonly<Record<string, Promised>> = {
  "no request waits longer than `max_wait`": function* (world) {
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
      // Providers see no attempt that opened no connection; only the log has it.
      const isWhole = objects(line.attempts).length <= entries.length;
      const firstMs = entries[0]?.receivedMs ?? one.respondedMs ?? sentMs;
      const silentMs = firstMs - sentMs - waitedMs;
      // A line without a model means that the body was never read.
      const isTried = entries.length > 0 ||
        line.connection === undefined && line.model !== undefined;
      const looks = Math.ceil(waitedMs / LOOK_AGAIN_MS);
      const lookMs = world.store === undefined ? 0 : LOOK_MS;
      // While a dial hangs, the request may take a socket that another one gives back. No attempt failed then, and the
      // caller waited for at most `connect`, which is acceptable.
      const places = connectionsOf(one, world).map(({ name }) => name);
      const hungMs = hungIn(sentMs, firstMs, { world, places });
      const isLate = silentMs > WAY_MS + looks * lookMs + hungMs;
      if (isWhole && isTried && isLate && one.ending !== "lost") {
        yield `#${one.number} did nothing for ${silentMs} ms, and the log has ${waitedMs}`;
      }
    }
  },
  "no slot is free while a request waits for it": function* (world) {
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
  "background work gets its turn after people": function* (world) {
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
  "a caller that stops reading blocks a slot for at most a minute": function* (
    world,
  ) {
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
  "a full gateway refuses no caller that has fewer waiting requests than another":
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
  "no new body is refused while the bodies of others' waiting requests hold most of the memory":
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
  "requests of one session get their turns in order": function* (world) {
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

/** The time in which a request waited. */
interface Wait {
  readonly one: Asked;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Yields the waits in the log. */
function* waitsIn(world: World): Iterable<Wait> {
  for (const one of world.asked) {
    const waitedMs = Number(lineOf(one, world)?.waited_ms ?? 0);
    if (waitedMs === 0) continue;
    const [entry] = attemptsOf(one, world);
    const untilMs = entry?.receivedMs ?? one.leftMs ?? one.endedMs ?? 0;
    yield { one, fromMs: untilMs - waitedMs, untilMs };
  }
}

/** Returns the waits of requests that only this connection could serve, and that had one attempt at most. */
function waitsFor(connection: Connection, world: World): readonly Wait[] {
  return [...waitsIn(world)].filter(({ one }) => {
    const isAlone = connectionsOf(one, world).length === 1 &&
      connectionsOf(one, world)[0] === connection;
    const isSingle = attemptsOf(one, world).length < 2 &&
      lineOf(one, world)?.attempts === undefined;
    return isAlone && isSingle && !isLimited(one, world);
  });
}

/** Returns the waits that were under way at a request's process when the request ended. */
function waitsAtEnd(
  { replica, endedMs = 0 }: Asked,
  world: World,
): readonly Wait[] {
  return [...waitsIn(world)].filter(({ one, fromMs, untilMs }) =>
    one.replica === replica && fromMs < endedMs && endedMs < untilMs
  );
}

/** A connection that never failed, with the waits of requests that no other connection could serve. */
interface SureQueue {
  readonly connection: Connection;
  readonly waits: readonly Wait[];
  /** Returns true when two requests compete for the same slots: those of one process. */
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
 * Returns true when a request may have held a slot that its provider did not see, because its dial hung or its socket
 * was silent. The slot is free only after `connect` or `first_byte`: the provider may be at work on the request.
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

/** Returns the longest part of a span, in milliseconds, for which a dial to one of these connections hung. */
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

/** Returns the connections that may serve a request or one of its fallbacks. */
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

/** Returns the longest time in which at least one slot was free, in milliseconds. */
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
