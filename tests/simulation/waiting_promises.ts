import type { World } from "./history.ts";
import {
  exchanges,
  lineOf,
  objects,
  type Promised,
  sumOf,
} from "./look_ups.ts";
import { isLimited } from "./usage_promises.ts";
import type { Asked } from "./world/caller.ts";
import type { LedgerEntry } from "./world/provider.ts";

/**
 * The longest time beside the attempts, in milliseconds: the end of the body, translations, the store, and the caller's
 * own pauses.
 */
const WAY_MS = 5000;

/** The longest time for which the gateway holds the beginning of an answer back (docs/failover.md), in milliseconds. */
const HOLD_MS = 15_000;

/** The longest pause before a repeat (docs/failover.md), in milliseconds: a `Retry-After` of 5 s, and a tenth of it. */
const PAUSE_MS = 5500;

/** The longest time in which the gateway reads the body of an error, in milliseconds. */
const ERROR_BODY_MS = 30_000;

/** An attempt in the log. */
interface LoggedAttempt {
  /** The model and the connection. */
  readonly place: string;
  /** True when the attempt ended at its deadline without any byte. */
  readonly isSilent: boolean;
  readonly failure: unknown;
  readonly ms: number;
}

/** The promises of docs/failover.md about a caller's whole wait, over all attempts. */
export const WAITING_PROMISES: Readonly<Record<string, Promised>> = {
  "a request waits only as long as its providers took, and once for a silent one":
    function* (world) {
      for (const one of world.asked) {
        const line = lineOf(one, world);
        const waitedMs = waitOf(one);
        if (line === undefined || waitedMs === undefined) continue;
        const attempts = loggedAttempts(one, world);
        // The only or last attempt may have served.
        const served = attempts.filter(({ isSilent }) => !isSilent);
        const silent = attempts.filter(({ isSilent }) => isSilent);
        const places = new Set(silent.map(({ place }) => place)).size;
        const more = missedBefore(one, world) === undefined ? 1 : 0;
        const heldMs = attempts.at(-1)?.failure === undefined ? HOLD_MS : 0;
        const silences = Math.min(silent.length, places + more);
        const mostMs = Number(line.waited_ms ?? 0) +
          sumOf(served, ({ ms }) => ms) +
          silences * firstAnswerMs(one, world) +
          repeatsOf(attempts) * PAUSE_MS + heldMs + WAY_MS;
        if (waitedMs > mostMs) {
          yield `#${one.number} waited ${waitedMs} ms of ${mostMs} for ${
            attempts.map(({ place }) => place)
          }`;
        }
      }
    },
  "a response arrives within the sum of its deadlines": function* (
    world,
  ) {
    const { connections, timeouts: { idleMs } } = world.config;
    const waits = connections.map(({ queue }) => queue?.maxWaitMs ?? 0);
    for (const one of world.asked) {
      const waitedMs = waitOf(one);
      const attemptMs = firstAnswerMs(one, world) +
        Math.max(idleMs, ERROR_BODY_MS);
      const mostMs = Math.max(...waits) + 3 * (attemptMs + PAUSE_MS) + WAY_MS;
      if (waitedMs !== undefined && waitedMs > mostMs) {
        yield `#${one.number} waited ${waitedMs} ms of ${mostMs}`;
      }
    }
  },
  "a silent connection gets a second attempt only after all that can serve":
    function* (
      world,
    ) {
      for (const one of world.asked) {
        const missed = missedBefore(one, world);
        if (missed === undefined) continue;
        const places = loggedAttempts(one, world).map(({ place }) => place);
        yield `#${one.number} was sent to ${places}, not to ${missed} in time`;
      }
    },
  "a silent provider gets a request once, or twice if no other can serve":
    function* (world) {
      for (const one of world.asked) {
        const silent = loggedAttempts(one, world)
          .filter(({ isSilent }) => isSilent).map(({ place }) => place);
        const more = missedBefore(one, world) === undefined ? 1 : 0;
        if (silent.length > new Set(silent).size + more) {
          yield `#${one.number} may cost ${silent.length} answers of ${silent}`;
        }
      }
    },
  "no request is sent again after a whole answer": function* (
    world,
  ) {
    for (const [one, entries] of exchanges(world)) {
      const whole = entries.slice(0, -1).filter((entry) =>
        entry.charged !== undefined && entry.isWhole && !isCut(entry, world)
      );
      if (whole.length > 0) {
        yield `#${one.number} was answered by ${
          whole.map(({ provider }) => provider)
        }, and sent again`;
      }
    }
  },
};

/**
 * Returns the time from the end of the request's body to the response, or to the caller's leaving, in milliseconds.
 * `undefined` if the body never arrived or the process ended. Later silences are not judged here: `idle` bounds them.
 */
function waitOf(
  { sentMs, respondedMs, endedMs, leftMs, ending }: Asked,
): number | undefined {
  const untilMs = respondedMs ?? leftMs ?? endedMs;
  return sentMs === undefined || untilMs === undefined || ending === "lost"
    ? undefined
    : untilMs - sentMs;
}

/**
 * Returns the deadline of an attempt's first byte, or of a stream's first output if that is earlier, in milliseconds.
 */
function firstAnswerMs(
  { isStream }: Asked,
  { config: { timeouts: { firstByteMs, firstOutputMs } } }: World,
): number {
  return isStream && firstOutputMs > 0
    ? Math.min(firstByteMs, firstOutputMs)
    : firstByteMs;
}

/** Returns the number of attempts at the same deployment as the attempt before. */
function repeatsOf(attempts: readonly LoggedAttempt[]): number {
  return attempts.filter(({ place }, at) => attempts[at - 1]?.place === place)
    .length;
}

function loggedAttempts(one: Asked, world: World): readonly LoggedAttempt[] {
  const line = lineOf(one, world);
  const all: readonly Readonly<Record<string, unknown>>[] =
    line?.attempts === undefined
      ? [{ ...line, ms: line?.total_ms }]
      : objects(line.attempts);
  return all.map(({ connection, model, failure, status, ms }) => ({
    place: `${model} of ${connection}`,
    isSilent: failure === "silent" && status === undefined,
    failure,
    ms: Number(ms ?? 0),
  }));
}

/**
 * Returns a deployment that certainly could have served a request before a silent one got it again; `undefined` if
 * there is none. Without another deployment, a second wait is right: a firewall may have caused the first silence.
 */
function missedBefore(one: Asked, world: World): string | undefined {
  const attempts = loggedAttempts(one, world);
  const again = attempts.findIndex(({ place }, at) =>
    attempts.slice(0, at).some((before) =>
      before.isSilent && before.place === place
    )
  );
  const before = attempts.slice(0, again);
  // Another connection may need the same translation, which failed.
  const isUnclear = again < 0 || isLimited(one, world) ||
    before.some(({ failure }) => failure === "untranslatable");
  if (isUnclear) return undefined;
  return placesOf(one, world).find(({ place, connection }) =>
    before.every((attempt) => attempt.place !== place) &&
    isSurelyWell(connection, one, world)
  )?.place;
}

/** Returns the deployments that may serve a request or one of its fallbacks. */
function placesOf(
  { model, agent }: Asked,
  { config: { connections } }: World,
) {
  const fallbacks = connections.flatMap(({ models }) =>
    models.filter(({ id }) => id === model).flatMap((one) => one.fallbacks)
  ).filter((id) => agent.models.includes(id) || agent.models.includes("*"));
  const ids = new Set([model, ...fallbacks]);
  return connections.flatMap((connection) =>
    connection.models.filter(({ id }) => ids.has(id)).map(({ id }) => ({
      place: `${id} of ${connection.name}`,
      connection,
    }))
  );
}

/** Returns true when a connection has no limit and no quota, and failed no other request before this one ended. */
function isSurelyWell(
  { name, maxConcurrent, queue }: World["config"]["connections"][number],
  one: Asked,
  world: World,
): boolean {
  const { endedMs = Infinity } = one;
  const { providers, ledger, asked } = world;
  const provider = providers.find((other) => other.name === name);
  const mayRefuse = maxConcurrent !== undefined || queue !== undefined ||
    provider === undefined || provider.quota !== undefined ||
    provider.capacity !== undefined;
  if (mayRefuse || provider.hung.length > 0 || provider.lostMs.length > 0) {
    return false;
  }
  const hasFailed = ledger.some((entry) =>
    entry.provider === name && entry.request !== one.number &&
    entry.receivedMs < endedMs &&
    (entry.status !== 200 || !entry.isWhole)
  );
  return !hasFailed &&
    asked.every((other) =>
      other === one || other.startedMs > endedMs || other.ending !== "lost" &&
        loggedAttempts(other, world).every(({ place, failure }) =>
          failure === undefined || !place.endsWith(` of ${name}`)
        )
    );
}

/** Returns true when a socket went silent during an answer, so that its end never arrived. */
function isCut(
  { provider, receivedMs, endedMs = Infinity }: LedgerEntry,
  { providers }: World,
): boolean {
  const found = providers.find(({ name }) => name === provider);
  return found?.lostMs.some((ms) => ms >= receivedMs && ms <= endedMs) ?? false;
}
