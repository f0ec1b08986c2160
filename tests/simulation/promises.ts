import { calendarSpan } from "../../src/base/time/calendar.ts";
import { ANSWER_PROMISES } from "./answer_promises.ts";
import { ATTEMPT_PROMISES } from "./attempt_promises.ts";
import type { History, World } from "./history.ts";
import type { Asked } from "./world/caller.ts";
import {
  askedOf,
  attemptsOf,
  lineOf,
  mayLackLine,
  type Promised,
  sessionStartOf,
  sumOf,
  unknownAtStarts,
} from "./look_ups.ts";
import { LESSON_PROMISES } from "./lesson_promises.ts";
import { MOVE_PROMISES } from "./move_promises.ts";
import { QUEUE_PROMISES } from "./queue_promises.ts";
import { USAGE_PROMISES } from "./usage_promises.ts";
import { WAITING_PROMISES } from "./waiting_promises.ts";
import { keyOf, type LedgerEntry } from "./world/provider.ts";

const PROMISES: Readonly<Record<string, Promised>> = {
  "every request ends": function* ({ asked }) {
    for (const { number, ending } of asked) {
      if (ending === undefined) yield `#${number} has no end`;
    }
  },
  "a caller gets 200, or an error with a message": function* ({ asked }) {
    for (const { number, status, text, ending } of asked) {
      if (ending === "left" || ending === "lost" || status === 200) continue;
      if (status === undefined) yield `#${number} has no status`;
      else if (!/"message":"[^"]/.test(text)) yield `#${number} has ${text}`;
    }
  },
  "no attempt follows after output": function* (world) {
    for (const entry of world.ledger) {
      const output = askedOf(entry.request, world)?.outputMs;
      if (output !== undefined && entry.receivedMs > output) {
        yield `#${entry.request} was sent to ${entry.provider} after output`;
      }
    }
  },
  "no request has more than three attempts": function* (world) {
    for (const one of world.asked) {
      const sent = attemptsOf(one, world).length;
      if (sent > 3) {
        yield `#${one.number} was sent ${sent} times`;
      }
    }
  },
  "the log counts every attempt": function* (world) {
    for (const one of world.asked) {
      const attempts = lineOf(one, world)?.attempts;
      const logged = Array.isArray(attempts) ? attempts.length : 1;
      const sent = attemptsOf(one, world).length;
      if (sent > logged && one.ending !== "left" && one.ending !== "lost") {
        yield `#${one.number} was sent ${sent} times, and the log has ${logged}`;
      }
    }
  },
  "a request reaches only models of its token, with their key": function* (
    world,
  ) {
    const exchanging = new Set(
      world.providers.filter(({ accepts }) => accepts !== undefined)
        .map(({ name }) => name),
    );
    for (const { request, provider, key, body } of world.ledger) {
      const one = askedOf(request, world);
      const model = String(body.model).replace(`-of-${provider}`, "");
      if (body.model !== `${model}-of-${provider}`) {
        yield `#${request} names ${body.model} to ${provider}`;
      }
      const models = one?.agent.models ?? [];
      if (!models.includes(model) && !models.includes("*")) {
        yield `#${request} reached ${body.model}`;
      }
      const isOwn = exchanging.has(provider)
        ? /^sk-secret-exchanged-\d+$/.test(key ?? "")
        : key === keyOf({ name: provider });
      if (!isOwn) {
        yield `#${request} reached ${provider} with another key`;
      }
    }
  },
  "a request never leaves the regions of its caller": function* (
    world,
  ) {
    const { config, ledger } = world;
    const callers = new Map(
      [...config.callers.values()].map((one) => [one.name, one]),
    );
    for (const { request, provider } of ledger) {
      const { agent } = askedOf(request, world) ?? {};
      const caller = callers.get(agent?.name ?? "");
      const lists = [
        caller?.regions,
        ...caller?.groups.map(({ regions }) => regions) ?? [],
      ].filter((list) => list !== undefined);
      const { region = "none" } = config.connections.find(({ name }) =>
        name === provider
      ) ?? {};
      if (lists.every((list) => list.includes(region))) continue;
      yield `#${request} of ${agent?.name} reached ${provider} in ${region}`;
    }
  },
  "no reasoning that the gateway sealed reaches a provider": function* (
    { ledger },
  ) {
    for (const { request, provider, body } of ledger) {
      if (/"mg1\./.test(JSON.stringify(body))) {
        yield `#${request} has one at ${provider}`;
      }
    }
  },
  "a dial that does not open ends at its deadline": function* (
    { providers, config },
  ) {
    for (const { name, hung } of providers) {
      for (const { startedMs, endedMs } of hung) {
        const tookMs = endedMs - startedMs;
        if (tookMs > config.timeouts.connectMs) {
          yield `${name} was waited for ${tookMs} ms`;
        }
      }
    }
  },
  "a healthy connection serves every slot": function* ({ checked }) {
    for (const { number, model, status } of checked) {
      if (status !== 200) yield `#${number} for ${model} got ${status}`;
    }
  },
  "every request has one line in the log": function* (world) {
    const { asked, log } = world;
    const ids = new Map<unknown, number>();
    for (const { event, fields } of log.entries) {
      if (event !== "request" || LOOKS.test(String(fields.route))) {
        continue;
      }
      ids.set(fields.request_id, (ids.get(fields.request_id) ?? 0) + 1);
    }
    for (const [id, count] of ids) {
      if (count > 1) yield `${id} has ${count} lines`;
    }
    for (const one of asked) {
      const id = one.headers?.get("x-request-id");
      if (id === undefined || ids.has(id) || mayLackLine(one, world)) continue;
      yield `#${one.number} has no line`;
    }
    const lines = [...ids.values()].reduce((sum, count) => sum + count, 0);
    const least = asked.filter((one) => !mayLackLine(one, world)).length;
    if (lines > asked.length || lines < least) {
      yield `${asked.length} requests have ${lines} lines`;
    }
  },
  "no error is unforeseen or unhandled": function* ({ log, unhandled }) {
    for (const { event, fields } of log.entries) {
      if (event === "unforeseen") yield `${fields.exception} ${fields.stack}`;
    }
    for (const cause of unhandled) yield `unhandled: ${String(cause)}`;
  },
  "no limit on requests is exceeded": function* (world) {
    const { asked, config, replicas, store, time } = world;
    const starts = sumOf(replicas, ({ starts }) => starts);
    const unknown = unknownAtStarts(world);
    const crashes = sumOf(replicas, ({ crashes }) => crashes);
    for (const caller of config.callers.values()) {
      for (const limit of caller.limits) {
        if (limit.kind !== "amount" || limit.unit !== "requests") continue;
        const sent = asked.filter((one) =>
          one.agent.name === caller.name && attemptsOf(one, world).length > 0
        );
        // A request whose process ended is not counted.
        const lost = sent.filter((one) => mayLackLine(one, world)).length;
        // While the store is away, each replica counts for itself, and some counts are lost. A caller may then use its
        // limit once for each process. To refuse everybody would be worse (docs/scaling.md).
        const isCounted = store === undefined ||
          !store.hasFailed && starts === replicas.length;
        // A crash may cut a line of the log. A start also skips the lines of tokens that are not in the file: until the
        // next start, these callers have that usage again. `usage_replayed` reports how much.
        const most = isCounted
          ? limit.most + lost + crashes + unknown
          : limit.most * (starts + store.losses) + lost;
        const windowOf = (one: Asked, atMs = 0) =>
          limit.window === "session"
            ? sessionStartOf(one, world)
            : calendarSpan(limit.window, time.startMs + atMs).startMs;
        const within = sent.filter((one) =>
          windowOf(one, one.startedMs) ===
            windowOf(one, attemptsOf(one, world)[0]?.receivedMs)
        );
        // Each session has its own limit. A sub-agent counts in its parent's session.
        const windows = Map.groupBy(
          within,
          (one) =>
            `${windowOf(one, one.startedMs) - time.startMs}${
              limit.per === undefined ? "" : ` in ${one.conversation}`
            }`,
        );
        for (const [window, { length }] of windows) {
          if (length <= most) continue;
          yield `${caller.name} has ${length} of ${limit.most} in the ${limit.window} of ${window}`;
        }
      }
    }
  },
  "no connection has more requests at once than its slots": function* (
    { config, ledger, replicas, process },
  ) {
    for (const { name, maxConcurrent = Infinity } of config.connections) {
      const own = ledger.filter(({ provider }) => provider === name);
      const most = mostAtOnce(own);
      // Each process counts only its own requests.
      const processes = process === undefined ? replicas.length : 1;
      if (most > maxConcurrent * processes) {
        yield `${name} had ${most} of ${maxConcurrent} at once`;
      }
    }
  },
  "at the end no request, body, socket or timer is left": function* (
    { replicas, providers, time },
  ) {
    for (const { name, running } of replicas) {
      const { inFlight = 0, bodyMemoryBytes = 0, waiting = 0 } =
        running?.gateway.state() ?? {};
      if (waiting > 0) yield `${waiting} callers wait at ${name}`;
      if (inFlight > 0) yield `${name} has ${inFlight} requests in flight`;
      if (bodyMemoryBytes !== 0) yield `${name} holds ${bodyMemoryBytes} bytes`;
    }
    for (const { name, sockets } of providers) {
      const open = [...sockets].filter(({ isClosed }) => !isClosed).length;
      if (open > 0) yield `${open} sockets to ${name}`;
    }
    if (time.running > 0) yield `${time.running} timers`;
  },
  "logs, metrics, alerts, `/usage` and the store have no secret and no content":
    function* (world) {
      const { log, agents, providers, metrics, looks, store } = world;
      const secrets = [
        ...agents.map(({ token }) => token),
        ...providers.map(keyOf),
        "sk-secret-exchanged",
        "sk-secret-of-the-receiver",
        "hook-secret",
        "Prompt #",
        "Köln",
      ];
      const texts = [
        ...log.entries.map(({ event, fields }) =>
          [event, JSON.stringify(fields)] as const
        ),
        ["the metrics", JSON.stringify(metrics)] as const,
        ["an alert", JSON.stringify(world.alerts)] as const,
        ...looks.map(({ path, text }) => [path, text] as const),
        ...[...store?.data.texts() ?? []].map((text) =>
          ["the store", text] as const
        ),
      ];
      for (const [where, text] of texts) {
        for (const secret of secrets) {
          if (text.includes(secret)) yield `${where} has ${secret}`;
        }
        if (/w\d+_\d+ /.test(text)) yield `${where} has a part of an answer`;
      }
    },
};

const ALL_PROMISES: Readonly<Record<string, Promised>> = {
  ...PROMISES,
  ...ATTEMPT_PROMISES,
  ...ANSWER_PROMISES,
  ...MOVE_PROMISES,
  ...QUEUE_PROMISES,
  ...USAGE_PROMISES,
  ...LESSON_PROMISES,
  ...WAITING_PROMISES,
};

/** Returns a line for each breach of a promise in a history. */
export function brokenPromises(
  world: World,
  promises = ALL_PROMISES,
): History["broken"] {
  return Object.entries(promises).flatMap(([name, check]) =>
    [...check(world)].map((line) => `${name}: ${line}`)
  );
}

/** The routes whose requests the simulation does not count as requests for a model. */
const LOOKS = /usage|limits|models|oauth/;

/** Returns the most entries that were under way at once. */
function mostAtOnce(entries: readonly LedgerEntry[]): number {
  const changes = entries.flatMap(({ receivedMs, endedMs = Infinity }) => [
    { atMs: receivedMs, by: 1 },
    { atMs: endedMs, by: -1 },
  ]).sort((one, other) => one.atMs - other.atMs || one.by - other.by);
  let count = 0;
  let most = 0;
  for (const { by } of changes) most = Math.max(most, count += by);
  return most;
}
