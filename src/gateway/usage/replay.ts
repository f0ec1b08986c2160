import { groupText } from "../config/usage_limits.ts";
import type { Config } from "../config/config.ts";
import { isIdentityCaller } from "../config/identity.ts";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { LoggedRequest, LoggedUse } from "../observe/logged_request.ts";
import type { Measure } from "./counts.ts";
import { type CountedCaller, type Counting, perSession } from "./counting.ts";
import { type CountedMiss, LIFE_MS, missCause } from "./tables.ts";

/** The numbers of requests in a log, by their result. */
interface ReplayCounts {
  /** Requests that were counted. */
  counted: number;
  /** Requests of a token that is not in the configuration. */
  unknownToken: number;
  /** Requests that ended after this process began to count. */
  late: number;
}

/** Counts the usage in earlier logs. */
export interface Replay {
  /** Adds one request of the log, in any order. */
  add(request: LoggedRequest): void;
  /** Counts the buffered requests, then the lives of sessions. Call it after the last request of all logs. */
  end(): void;
  readonly counts: Readonly<ReplayCounts>;
  /** The end of the first request that is not late, in milliseconds since 1970; `undefined` without such a request. */
  readonly firstMs: number | undefined;
}

interface ReplayOptions {
  readonly counting: Pick<Counting, "count" | "countLife">;
  /** The configuration with the names of the tokens. */
  readonly config: Pick<Config, "callers" | "identity">;
  /** The moment from which this process itself counts, in milliseconds since 1970. */
  readonly untilMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * The requests of one span are counted together. The length of a span depends on the age of its requests; the oldest
 * come first. A longer span begins at an age at which the shorter buckets of `relayed.ts` are no longer kept: those of
 * 15 minutes are kept for 6 hours, those of an hour for 8 days.
 */
const SPANS: readonly {
  readonly minAgeMs: number;
  readonly lengthMs: number;
}[] = [
  { minAgeMs: 10 * DAY_MS, lengthMs: DAY_MS },
  { minAgeMs: 8 * HOUR_MS, lengthMs: HOUR_MS },
  { minAgeMs: 0, lengthMs: 15 * MINUTE_MS },
];

/** The largest number of uses in the buffer. Counting so few uses at once does not delay requests. */
const MAX_GATHERED = 2000;

/** The usage by one token, or one of its sessions, of one model on one connection in one span. */
interface Gathered {
  readonly caller: CountedCaller;
  readonly connection: string;
  readonly model: string;
  readonly atMs: number;
  readonly session: string | undefined;
  /** The earliest start of the gathered requests, in milliseconds since 1970. */
  startedMs: number;
  readonly counts: Partial<Record<Measure, number>>;
  readonly misses: CountedMiss[];
}

/**
 * Creates a replay. Counts requests that end in the same span together, because counting a request takes longer than
 * reading a request from the log.
 */
export function createReplay(
  { counting, config, untilMs }: ReplayOptions,
): Replay {
  const callerOf = createCallerFinder(config);
  const gathered = new Map<string, Gathered>();
  const counts: ReplayCounts = { counted: 0, unknownToken: 0, late: 0 };
  let firstMs: number | undefined;

  /**
   * The usage of sessions whose life a limit counts. The usage is kept until all logs are read, because the order of
   * the logs is not known.
   */
  const lives: Gathered[] = [];

  function flush(): void {
    for (const use of gathered.values()) {
      counting.count({ ...use, startedMs: undefined });
      if (hasLife(use)) lives.push(use);
    }
    gathered.clear();
  }

  function countLives(): void {
    lives.sort((one, other) => one.startedMs - other.startedMs);
    /** The start of the last life of each session. */
    const starts = new Map<string, number>();
    for (const use of lives) {
      const name = `${use.caller.name}\t${use.session}`;
      const known = starts.get(name) ?? -Infinity;
      const startedMs = use.startedMs < known + LIFE_MS ? known : use.startedMs;
      starts.set(name, startedMs);
      counting.countLife({ ...use, startedMs });
    }
  }

  function gatheredFor(
    caller: CountedCaller,
    { connection, model = "", session, endedMs, totalMs }: {
      readonly connection: string;
      readonly session: string | undefined;
      readonly model: string | undefined;
      readonly endedMs: number;
      readonly totalMs: number;
    },
  ): Gathered {
    const atMs = spanStart(endedMs, untilMs);
    // No name in the configuration contains a tab.
    const key = [atMs, caller.name, connection, model, session].join("\t");
    const known = gathered.get(key);
    const startedMs = endedMs - totalMs;
    if (known !== undefined) {
      known.startedMs = Math.min(known.startedMs, startedMs);
      return known;
    }
    if (gathered.size >= MAX_GATHERED) flush();
    const fresh = {
      ...{ caller, connection, model, session, atMs, startedMs },
      ...{ counts: {}, misses: [] },
    };
    gathered.set(key, fresh);
    return fresh;
  }

  return {
    add(request) {
      const endedMs = Date.parse(request.time);
      if (!(endedMs < untilMs)) {
        counts.late++;
        return;
      }
      firstMs = Math.min(firstMs ?? endedMs, endedMs);
      const caller = callerOf(request);
      if (caller === undefined) {
        counts.unknownToken++;
        return;
      }
      counts.counted++;
      const { connection, isEstimated, totalMs } = request;
      // Only limits per session need the session. Without such a limit, all sessions in a span are counted together.
      const session = perSession(caller).length > 0
        ? request.session
        : undefined;
      const gather = ({ model }: LoggedUse) =>
        gatheredFor(caller, { connection, model, session, endedMs, totalMs });
      const { counts: own, misses } = gather(request);
      if (request.cacheMiss !== undefined) {
        const { cause, part, costUsd } = request.cacheMiss;
        const nanos = costUsd && Math.round(costUsd * NANOS_PER_DOLLAR);
        misses.push({ cause: missCause(cause, part), requests: 1, nanos });
      }
      own.requests = (own.requests ?? 0) + 1;
      if (isEstimated) own.estimated = (own.estimated ?? 0) + 1;
      for (const use of [request, ...request.others]) {
        addTo(gather(use).counts, use);
      }
    },
    end() {
      flush();
      countLives();
    },
    counts,
    get firstMs() {
      return firstMs;
    },
  };
}

/**
 * Creates the function that finds the caller of a logged request. The configuration does not list the callers of
 * identity providers. The function makes such a caller from the name and the groups in the log. The name of such a
 * caller ends with the issuer.
 */
function createCallerFinder(
  { callers, identity }: ReplayOptions["config"],
): (request: LoggedRequest) => CountedCaller | undefined {
  const listed = new Map<string, CountedCaller>(
    [...callers.values()].map((caller) => [caller.name, caller]),
  );
  const groups = new Map(
    identity.flatMap(({ rules }) =>
      rules.map((rule) => [groupText(rule.groups), rule.groups] as const)
    ),
  );
  return ({ token = "", tokenGroup }) => {
    const known = listed.get(token);
    if (known !== undefined) return known;
    if (!isIdentityCaller(token, identity)) return undefined;
    return {
      name: token,
      groups: groups.get(tokenGroup) ?? [],
      isUnlisted: true,
    };
  };
}

/** Returns the start of a request's span. The current minute has a span of its own. */
function spanStart(endedMs: number, untilMs: number): number {
  const minuteMs = untilMs - untilMs % MINUTE_MS;
  if (endedMs >= minuteMs) return minuteMs;
  const { lengthMs = MINUTE_MS } =
    SPANS.find(({ minAgeMs }) => untilMs - endedMs >= minAgeMs) ?? {};
  return endedMs - endedMs % lengthMs;
}

/** Returns true when a limit counts the life of the session. */
function hasLife({ session, caller }: Gathered): boolean {
  return session !== undefined &&
    perSession(caller).some(({ window }) => window === "session");
}

/** Adds a model's usage. A measure without values stays absent, such as the cost without prices. */
function addTo(counts: Gathered["counts"], use: LoggedUse): void {
  const add = (measure: Measure, amount: number) =>
    counts[measure] = (counts[measure] ?? 0) + amount;
  add("input", use.inputTokens);
  add("cached_input", use.cachedInputTokens);
  add("cache_write", use.cacheWriteTokens);
  add("output", use.outputTokens);
  add("reasoning", use.reasoningTokens);
  if (use.costUsd !== undefined) {
    add("cost", Math.round(use.costUsd * NANOS_PER_DOLLAR));
  } else if (use.inputTokens + use.outputTokens > 0) add("unpriced", 1);
}
