import type { World } from "./history.ts";
import { exchanges, lineOf, type Promised } from "./look_ups.ts";
import { LONG_MS } from "../../src/gateway/relay/routing/cool_down.ts";
import { PATHS } from "../support/wire/ask.ts";
import { isLimited } from "./usage_promises.ts";
import { KEPT_HEADER, PRIVATE_HEADERS } from "./world/caller.ts";
import { keyOf, type LedgerEntry } from "./world/provider.ts";

/** The longest time in which a closed connection reaches the other side, in milliseconds. */
const SLACK_MS = 1000;

/** The longest time in which a slow reader ends after it has left, in milliseconds. */
const READ_MS = 3000 + SLACK_MS;

/** Statuses after which another attempt may succeed; undefined when the connection broke. */
const PASSING: ReadonlySet<number | undefined> = new Set(
  [undefined, 429, 500, 502, 503, 529],
);

/** Statuses of a request that failed because no provider could serve it. */
const FAILED: ReadonlySet<number | undefined> = new Set(
  [429, 500, 502, 503, 504, 529],
);

/** The time after which one request probes a connection in a long wait (docs/failover.md), in milliseconds. */
const PROBE_MS = 300_000;

/** The promises of docs/design.md and docs/failover.md about attempts. */
export const ATTEMPT_PROMISES: Readonly<Record<string, Promised>> = {
  "the provider's exchange ends when the caller leaves": function* (world) {
    for (const [one, entries] of exchanges(world)) {
      const leftMs = one.leftMs ?? one.endedMs;
      if (one.ending !== "left" || leftMs === undefined) continue;
      for (const { provider, receivedMs, endedMs = Infinity } of entries) {
        if (endedMs > leftMs + SLACK_MS) {
          yield `#${one.number} is still answered by ${provider}`;
        }
        if (receivedMs > leftMs + SLACK_MS) {
          yield `#${one.number} is sent to ${provider} after its caller left`;
        }
      }
    }
  },
  "a request ends when its caller leaves": function* ({ asked }) {
    for (const one of asked) {
      const { leftMs = Infinity, sentMs = Infinity, endedMs = 0 } = one;
      // The body still arrives in full after its caller has left.
      const lateMs = endedMs - Math.max(leftMs, sentMs);
      if (one.ending !== "left" || lateMs <= READ_MS) continue;
      yield `#${one.number} ended ${lateMs} ms after its caller left`;
    }
  },
  "an attempt at a silent provider ends at its deadline": function* (world) {
    const { firstByteMs, firstOutputMs } = world.config.timeouts;
    for (const [one, entries] of exchanges(world)) {
      const mostMs = one.isStream && firstOutputMs > 0
        ? Math.min(firstByteMs, firstOutputMs)
        : firstByteMs;
      for (const { status, receivedMs, endedMs, provider } of entries) {
        const tookMs = (endedMs ?? Infinity) - receivedMs;
        if (status === undefined && tookMs > mostMs + SLACK_MS) {
          yield `#${one.number} waited ${tookMs} ms of ${mostMs} for ${provider}`;
        }
      }
    }
  },
  "an invalid request is sent once": function* (world) {
    for (const [one, entries] of exchanges(world)) {
      const at = entries.findIndex((entry) =>
        entry.status === 400 && !isLost(entry, world)
      );
      if (at >= 0 && at < entries.length - 1) {
        yield `#${one.number} was sent again after a 400`;
      }
    }
  },
  "a request that is larger than a rate limit is not sent to that provider again":
    function* (world) {
      for (const [one, entries] of exchanges(world)) {
        const refused = entries.filter(({ isOversized }) => isOversized);
        for (const entry of refused) {
          const { provider, body } = entry;
          const again = entries.slice(entries.indexOf(entry) + 1)
            .find((later) =>
              later.provider === provider && later.body.model === body.model &&
              !isLost(entry, world)
            );
          if (again !== undefined) yield `#${one.number} again at ${provider}`;
        }
        const wasLost = refused.some((entry) => isLost(entry, world));
        const isLast = entries.length > 0 && refused.length === entries.length;
        const mayRepeat = one.headers?.get("x-should-retry") !== "false";
        if (isLast && one.status === 429 && mayRepeat && !wasLost) {
          yield `#${one.number} may be repeated by its client`;
        }
      }
    },
  "a provider gets no repeat before its Retry-After": function* (world) {
    for (const [one, entries] of exchanges(world)) {
      for (const [at, entry] of entries.entries()) {
        const { provider, body, retryAfter = 0, endedMs } = entry;
        // The provider's limit is on one model: it may still serve a fallback.
        const again = entries.slice(at + 1).find((later) =>
          later.provider === provider && later.body.model === body.model
        );
        if (again === undefined || endedMs === undefined) continue;
        if (retryAfter === 0) continue;
        const waitedMs = again.receivedMs - endedMs;
        const shownMs = world.providers.find(({ name }) => name === provider)
          ?.quota?.roomShownMs ?? [];
        // A quota reading that shows room ends a long wait, for example after somebody bought credits. Requests in the
        // line are then sent before the Retry-After.
        const hasRoom = shownMs.some((ms) =>
          ms >= endedMs && ms <= again.receivedMs &&
          isWaiting(entry, ms, world)
        );
        // A probe every five minutes is allowed: otherwise the request would fail, and a refused probe costs no money.
        const isProbe = 1000 * retryAfter >= LONG_MS && waitedMs >= PROBE_MS;
        const isKept = waitedMs >= 1000 * retryAfter || isProbe || hasRoom;
        if (!isKept && !isLost(entry, world)) {
          yield `#${one.number} waited ${waitedMs} ms of ${retryAfter} s for ${provider}`;
        }
      }
    }
  },
  "a request fails only after all connections that never failed were tried":
    function* (
      world,
    ) {
      const failed = failedConnections(world);
      const sure = world.config.connections.filter(({ name, maxConcurrent }) =>
        maxConcurrent === undefined && !failed.has(name)
      );
      for (const [one, entries] of exchanges(world)) {
        const last = entries.at(-1);
        // Providers see no attempt that opened no connection; only the log has it.
        const { attempts } = lineOf(one, world) ?? {};
        const isSpent = !Array.isArray(attempts) ||
          attempts.length !== entries.length;
        // A request may fail after three attempts at three deployments.
        const places = new Set(
          entries.map(({ provider, body }) => `${provider} ${body.model}`),
        );
        const mayEnd = isSpent || !FAILED.has(one.status) ||
          one.ending === "left" || one.ending === "lost" || places.size > 2;
        if (last === undefined || mayEnd || !PASSING.has(last.status)) continue;
        const missed = sure.find(({ name, models }) =>
          models.some(({ id }) => id === one.model) &&
          entries.every(({ provider }) => provider !== name)
        );
        if (missed !== undefined && !isLimited(one, world)) {
          yield `#${one.number} did not try ${missed.name}`;
        }
      }
    },
  "a refusal by the gateway has a Retry-After or forbids a retry": function* (
    world,
  ) {
    for (const [one, entries] of exchanges(world)) {
      const { status, headers } = one;
      const isOwn = entries.length === 0 && (status === 429 || status === 503);
      if (!isOwn || headers === undefined) continue;
      const seconds = Number(headers.get("retry-after") ?? 0);
      const isFinal = headers.get("x-should-retry") === "false";
      if (seconds >= 1 && Number.isInteger(seconds) || isFinal) continue;
      yield `#${one.number} got ${status} with retry-after ${seconds}`;
    }
  },
  "a caller's private headers stop at the gateway, the others reach the provider":
    function* (
      world,
    ) {
      for (const [one, entries] of exchanges(world)) {
        for (const { provider, protocol, head } of entries) {
          const fields = fieldsIn(head);
          for (const [name, value] of Object.entries(PRIVATE_HEADERS)) {
            if (fields.get(name) === value || head.includes("mg_secret")) {
              yield `#${one.number} shows ${name} to ${provider}`;
            }
          }
          const isKept = fields.get(KEPT_HEADER) === `kept-${one.number}`;
          if (!isKept) yield `#${one.number} lacks its header at ${provider}`;
          const length = Number(fields.get("content-length"));
          const isJson = fields.get("content-type") === "application/json";
          const isTo = fields.get("host") === `${provider}.example`;
          const isPath = head.startsWith(`POST ${PATHS[protocol]} `);
          if (length > 0 && isJson && isTo && isPath) continue;
          yield `#${one.number} reached ${provider} with ${
            head.split("\r\n")[0]
          }`;
        }
      }
    },
  "a provider's private headers stop at the gateway, the others reach the caller":
    function* (
      world,
    ) {
      for (const [one, entries] of exchanges(world)) {
        const { headers, status } = one;
        if (headers === undefined || status !== 200) continue;
        for (const name of ["set-cookie", "alt-svc", "x-echo"]) {
          if (headers.has(name)) yield `#${one.number} gets ${name}`;
        }
        if (headers.get("x-gateway-dropped") === "everything") {
          yield `#${one.number} gets another gateway's header`;
        }
        const native = entries.at(-1);
        if (native?.protocol !== one.protocol || native.answer === undefined) {
          continue;
        }
        if (!/^answer-\d+$/.test(headers.get("x-answer") ?? "")) {
          yield `#${one.number} lacks a header of its provider`;
        }
      }
    },
  "no answer shows a credential": function* ({ asked, agents, providers }) {
    const secrets = [
      ...agents.map(({ token }) => token),
      ...providers.map(keyOf),
      "sk-secret-exchanged",
    ];
    for (const { number, text, headers } of asked) {
      const all = [text, ...headers ?? []].join("\n");
      if (secrets.some((one) => all.includes(one))) {
        yield `#${number} shows a credential`;
      }
    }
  },
};

/** Returns the names of the connections that cooled down or failed at least one attempt. */
export function failedConnections(
  { log, ledger }: World,
): ReadonlySet<unknown> {
  const broken = ledger.filter(({ status, isWhole, answer }) =>
    status !== 200 || answer !== undefined && !isWhole
  );
  const logged = log.entries.flatMap(({ event, fields }) => {
    const attempts = Array.isArray(fields.attempts) ? fields.attempts : [];
    const some = attempts.filter(({ failure }) => failure !== undefined)
      .map(({ connection }) => connection);
    const isFailed = event === "cooling_down" || fields.failure !== undefined;
    return isFailed ? [...some, fields.connection] : some;
  });
  return new Set([...broken.map(({ provider }) => provider), ...logged]);
}

/** Returns the fields of a head by lower-case name. */
function fieldsIn(head: string): ReadonlyMap<string, string> {
  return new Map(
    head.split("\r\n").slice(1).map((line) => {
      const [name = "", value = ""] = line.split(/: ?(.*)/, 2);
      return [name.toLowerCase(), value];
    }),
  );
}

/** Returns true while the provider and model of an entry are in a long wait, started by any request. */
function isWaiting(
  { provider, body }: LedgerEntry,
  atMs: number,
  { ledger }: World,
): boolean {
  return ledger.some(({ retryAfter = 0, endedMs = Infinity, ...other }) =>
    other.provider === provider && other.body.model === body.model &&
    1000 * retryAfter >= LONG_MS &&
    endedMs <= atMs && endedMs + 1000 * retryAfter >= atMs
  );
}

/**
 * Returns true when the socket went silent before the provider's response arrived. The gateway cannot know of a refusal
 * then: the caller waits for `first_byte` once, and gets an answer or an error.
 */
function isLost(
  { provider, receivedMs, endedMs = Infinity }: LedgerEntry,
  { providers }: World,
): boolean {
  return providers.some(({ name, lostMs }) =>
    name === provider &&
    lostMs.some((ms) => ms >= receivedMs && ms <= endedMs + SLACK_MS)
  );
}
