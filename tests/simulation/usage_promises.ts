import type { Config } from "../../src/gateway/config/config.ts";
import {
  limitsOn,
  type LimitUnit,
  type LimitWindow,
} from "../../src/gateway/config/usage_limits.ts";
import { calendarSpan } from "../../src/base/time/calendar.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { LogEntry } from "../support/fakes/memory_log.ts";
import type { World } from "./history.ts";
import {
  attemptsOf,
  isServed,
  lineOf,
  mayLackLine,
  objects,
  type Promised,
  sessionStartOf,
  sumOf,
  unknownAtStarts,
  wasSent,
} from "./look_ups.ts";
import type { Asked } from "./world/caller.ts";

/** The longest time from a request's end to its count, in milliseconds: additions are gathered for 100. */
const COUNTED_MS = 1000;

/** The promises of docs/usage.md and docs/scaling.md about counts and limits. */
export const USAGE_PROMISES: Readonly<Record<string, Promised>> = {
  "no more usage is logged than a provider charged": function* (world) {
    for (const one of world.asked.filter(isServed)) {
      const usage = lineOf(one, world)?.usage;
      if (!isJsonObject(usage) || usage.estimated === true) continue;
      const found = attemptsOf(one, world).some(({ answer }) =>
        answer?.inputTokens === usage.input_tokens &&
        answer?.outputTokens !== undefined &&
        answer.outputTokens >= Number(usage.output_tokens)
      );
      if (!found) yield `#${one.number} has usage that no provider charged`;
    }
  },
  "`/usage` equals the log, apart from losses of a store or a crash":
    function* (
      world,
    ) {
      const { counts, replicas, store, time } = world;
      const crashes = sumOf(replicas, ({ crashes }) => crashes);
      const starts = sumOf(replicas, ({ starts }) => starts);
      // A drain that cannot reach the store loses its last counts.
      const mayLose = store === undefined
        ? crashes > 0 || unknownAtStarts(world) > 0
        : store.losses > 0 || store.hasFailed && starts > replicas.length ||
          crashes > 0;
      for (const { agent, body, status, replica } of counts) {
        if (status === undefined) continue;
        const own = loggedLines(world, new Set([agent.name]));
        const sums = [
          ...objects(body.windows).flatMap((window) => {
            const startMs = Date.parse(String(window.starts_at));
            if (!(startMs <= time.startMs)) return [];
            return [
              { what: `${window.window}`, found: [window.total], lines: own },
              ...objects(window.data).map((row) => ({
                ...{ what: `${window.window} of ${row.model}`, found: [row] },
                lines: own.filter((line) =>
                  line.connection === row.connection &&
                  modelOf(line) === row.model
                ),
              })),
            ];
          }),
          { what: "five weeks", found: objects(body.history), lines: own },
          ...objects(body.groups).map(({ name, history }) => ({
            ...{ what: `five weeks of ${name}`, found: objects(history) },
            lines: loggedLines(world, membersOf(name, world)),
          })),
        ];
        for (const { what, found, lines } of sums) {
          for (const [name, amount] of Object.entries(amountsIn(lines))) {
            const rows = objects(found).filter((row) => name in row);
            if (rows.length === 0) continue;
            const counted = sumOf(rows, (row) => Number(row[name]));
            const isSame = Math.abs(counted - amount) < 1e-6;
            if (isSame || mayLose && counted < amount) continue;
            yield `${agent.name} has ${counted} ${name} of the ${what} at ${replica}, and the log has ${amount}`;
          }
        }
      }
    },
  "at the end no reservation is held": function* ({ counts }) {
    for (const { agent, body, replica } of counts) {
      const totals = new Map(
        objects(body.windows).map(({ window, total }) => [window, total]),
      );
      for (
        const { scope, unit, window, used, models, per } of objects(body.limits)
      ) {
        // The usage of one session has no total to compare.
        if (per !== undefined) continue;
        const total = totals.get(window);
        if (scope !== "token" || models !== null || !isJsonObject(total)) {
          continue;
        }
        const counted = countedIn(total, unit);
        if (counted === undefined) continue;
        if (Math.abs(Number(used) - counted) > 1e-6) {
          yield `${agent.name} has used ${used} ${unit} of a ${window} at ${replica}, and ${counted} are counted`;
        }
      }
    }
  },
  "a limit's `remaining` and `used_percent` follow from its amount and use":
    function* (
      { looks, counts, time },
    ) {
      for (const { agent, body, replica, startedMs } of [...looks, ...counts]) {
        const limits = objects(body.limits);
        for (const { unit, window, limit, used, ...rest } of limits) {
          if (used === null || limit === undefined) continue;
          const left = Math.max(0, Number(limit) - Number(used));
          const isLeft = Math.abs(left - Number(rest.remaining)) < 1e-3;
          const percent = 100 * Number(used) / Number(limit);
          const isPart = rest.used_percent === null ||
            Math.abs(percent - Number(rest.used_percent)) < 0.2;
          const readMs = time.startMs + startedMs;
          const [fromMs, untilMs] = [rest.starts_at, rest.resets_at]
            .map((at) => Date.parse(String(at)));
          const isNow = rest.session === null ||
            fromMs !== undefined && untilMs !== undefined &&
              fromMs <= readMs + 2 * COUNTED_MS &&
              readMs <= untilMs + 2 * COUNTED_MS;
          if (isLeft && isPart && (isNow || unit === "share")) continue;
          yield `${agent.name} reads ${
            JSON.stringify(rest)
          } of ${limit} ${unit} of a ${window}, and ${used} used, at ${replica}`;
        }
      }
    },
  "no request is admitted once a limit is full": function* (world) {
    const { config, replicas, store } = world;
    const crashes = sumOf(replicas, ({ crashes }) => crashes);
    if (crashes > 0 || store?.hasFailed || unknownAtStarts(world) > 0) return;
    for (
      const { members, unit, window, most, name, per } of limitsIn(config)
    ) {
      const own = world.asked.filter((one) =>
        members.has(one.agent.name) && wasSent(one, world)
      );
      const windows = Map.groupBy(own, (one) => {
        const at = windowOf(one, window, world);
        if (at === undefined || per === undefined) return at;
        return `${at} ${one.agent.name} ${one.conversation}`;
      });
      windows.delete(undefined);
      for (const requests of windows.values()) {
        const ended = requests.flatMap((one) =>
          mayLackLine(one, world) || one.endedMs === undefined
            ? []
            : [{ atMs: one.endedMs, amount: amountOf(one, unit, world) }]
        ).sort((one, other) => other.atMs - one.atMs);
        let used = 0;
        // Both lists are in the order of time.
        for (const { number, startedMs } of requests) {
          while ((ended.at(-1)?.atMs ?? Infinity) + COUNTED_MS < startedMs) {
            used += ended.pop()?.amount ?? 0;
          }
          if (used < most) continue;
          yield `#${number} was sent when ${name} had used ${used} of ${most} ${unit} of a ${window}`;
        }
      }
    }
  },
  "an alert comes once for each threshold of a window": function* (
    { alerts, replicas, store },
  ) {
    // Processes that count separately send separate alerts.
    const starts = sumOf(replicas, ({ starts }) => starts);
    const isOne = store === undefined
      ? starts === replicas.length
      : !store.hasFailed;
    if (!isOne) return;
    const known = new Set<string>();
    for (const { kind, scope, name, what, threshold, resets_at } of alerts) {
      // Sessions have no name in alerts.
      if (scope === "session") continue;
      const key = [kind, scope, name, what, threshold, resets_at].join(" ");
      if (known.has(key)) yield `${key} came again`;
      known.add(key);
    }
  },
  "quotas are those that the provider reported": function* (
    { looks, providers },
  ) {
    for (const { agent, path, body } of looks) {
      if (path !== "limits") continue;
      for (const { name, status, limits } of objects(body.data)) {
        const provider = providers.find((one) => one.name === name);
        if (status !== "ok" && objects(limits).length > 0) {
          yield `${agent.name} sees limits of ${name}, which is ${status}`;
        }
        for (const { used } of objects(limits)) {
          if (provider?.quota?.said.has(Number(used))) continue;
          yield `${agent.name} sees that ${used} of ${name} are used`;
        }
      }
    }
  },
  "people can read their numbers": function* ({ looks, counts }) {
    for (
      const { agent, path, status, replica, text } of [
        // Until the sessions end, tokens are removed and put back.
        ...looks.filter(({ status }) => status !== 401),
        ...counts,
      ]
    ) {
      if (status === undefined || status === 200 || status === 503) continue;
      if (path === "limits" && status === 504) continue;
      yield `${agent.name} got ${status} for ${path} at ${replica}: ${text}`;
    }
  },
  "metrics agree with the log": function* ({ metrics, log }) {
    const lines = log.entries.filter(({ event }) => event === "request")
      .map(({ fields }) => fields);
    const expected = new Map<string, number>();
    const add = (key: string, amount: unknown) =>
      expected.set(key, (expected.get(key) ?? 0) + Number(amount ?? 0));
    for (const { ended, token, usage, waited_for } of lines) {
      add(`requests_total ${ended}`, 1);
      if (waited_for !== undefined) add(`wait_seconds_count ${waited_for}`, 1);
      if (token !== undefined) add(`caller_requests_total ${token}`, 1);
      if (token === undefined || !isJsonObject(usage)) continue;
      add(`caller_tokens_total input ${token}`, usage.input_tokens);
      add(`caller_tokens_total output ${token}`, usage.output_tokens);
    }
    const counted = new Map<string, number>();
    for (const { name, labels, value } of metrics) {
      const short = name.replace("model_gateway_", "");
      const { ended, token, kind, reason } = labels;
      const key = short === "requests_total"
        ? `${short} ${ended}`
        : short === "wait_seconds_count"
        ? `${short} ${reason}`
        : short === "caller_requests_total"
        ? `${short} ${token}`
        : `${short} ${kind} ${token}`;
      counted.set(key, (counted.get(key) ?? 0) + value);
    }
    for (const [key, amount] of expected) {
      const value = counted.get(key) ?? 0;
      if (value !== amount) yield `${key} is ${value}, the log has ${amount}`;
    }
  },
};

type Line = LogEntry["fields"];

/** Returns the lines of these tokens' requests that count. */
function loggedLines(
  { log }: World,
  tokens: ReadonlySet<unknown>,
): readonly Line[] {
  return log.entries.flatMap(({ event, fields }) =>
    event === "request" && tokens.has(fields.token) &&
      fields.connection !== undefined && wasLoggedAsSent(fields)
      ? [fields]
      : []
  );
}

/** Returns the totals of lines by the field names of `GET /usage`. */
function amountsIn(lines: readonly Line[]): Readonly<Record<string, number>> {
  const sum = (name: string) =>
    sumOf(
      lines,
      ({ usage }) => isJsonObject(usage) ? Number(usage[name] ?? 0) : 0,
    );
  return {
    requests: lines.length,
    ...Object.fromEntries(TOKENS.map((name) => [name, sum(name)])),
    cost_usd: sumOf(lines, ({ cost_usd }) => Number(cost_usd ?? 0)),
    unpriced_requests:
      lines.filter(({ usage, cost_usd }) =>
        isJsonObject(usage) && cost_usd === undefined &&
        Number(usage.input_tokens ?? 0) + Number(usage.output_tokens ?? 0) > 0
      ).length,
    estimated_requests:
      lines.filter(({ usage }) =>
        isJsonObject(usage) && usage.estimated === true
      ).length,
  };
}

const TOKENS = [
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
] as const;

function modelOf({ served_model, model }: Line): unknown {
  return served_model ?? model;
}

function membersOf(group: unknown, { config }: World): ReadonlySet<string> {
  return new Set(
    [...config.callers.values()]
      .filter(({ groups }) => groups.some(({ name }) => name === group))
      .map(({ name }) => name),
  );
}

/** Returns true when the request was sent to a provider: others do not count. */
function wasLoggedAsSent(fields: LogEntry["fields"]): boolean {
  const attempts = objects(fields.attempts);
  const tried = attempts.length === 0 ? [fields] : attempts;
  return tried.some(({ failure }) => failure !== "untranslatable");
}

function countedIn(total: JsonObject, unit: unknown): number | undefined {
  if (unit === "requests") return Number(total.requests);
  if (unit === "USD") return Number(total.cost_usd);
  if (unit !== "tokens") return undefined;
  return Number(total.input_tokens) + Number(total.output_tokens);
}

/** A limit on an amount, with the tokens that it counts. */
interface CountedLimit {
  readonly name: string;
  readonly members: ReadonlySet<string>;
  readonly unit: LimitUnit;
  readonly window: LimitWindow;
  readonly most: number;
  readonly per?: "session";
}

function limitsIn({ callers }: Config): CountedLimit[] {
  const all = [...callers.values()];
  const holders = [
    ...all.map(({ name, limits }) => ({
      name,
      limits,
      members: new Set([name]),
    })),
    ...[...new Set(all.flatMap(({ groups }) => groups))].map((
      { name, limits },
    ) => ({
      ...{ name, limits },
      members: new Set(
        all.filter((one) => one.groups.some((group) => group.name === name))
          .map((one) => one.name),
      ),
    })),
  ];
  return holders.flatMap(({ name, limits, members }) =>
    limits.flatMap((limit) =>
      limit.kind === "amount" && limit.models === undefined &&
        limit.connections === undefined
        ? [{ name, members, ...limit }]
        : []
    )
  );
}

/** Returns the start of the window that contains a request; undefined if the request is in two. */
function windowOf(
  one: Asked,
  window: CountedLimit["window"],
  world: World,
): number | undefined {
  if (window === "session") return sessionStartOf(one, world);
  const startOf = (ms: number) =>
    calendarSpan(window, world.time.startMs + ms).startMs;
  const startMs = startOf(one.startedMs);
  const sentMs = attemptsOf(one, world)[0]?.receivedMs ?? 0;
  return startMs === startOf(sentMs) && startMs === startOf(one.endedMs ?? 0)
    ? startMs
    : undefined;
}

/** Returns the use of a request in the unit of a limit. */
function amountOf(one: Asked, unit: LimitUnit, world: World): number {
  if (unit === "requests") return 1;
  const { usage, cost_usd } = lineOf(one, world) ?? {};
  if (unit === "cost") return Math.floor(1e9 * Number(cost_usd ?? 0));
  if (!isJsonObject(usage)) return 0;
  return Number(usage.input_tokens ?? 0) + Number(usage.output_tokens ?? 0);
}

/** Returns true when the request's agent has any limit. */
export function isLimited({ agent }: Asked, { config }: World): boolean {
  const found = [...config.callers.values()]
    .find(({ name }) => name === agent.name);
  return found !== undefined && limitsOn(found).length > 0;
}
