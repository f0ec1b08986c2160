import type { Caller, Config, Connection } from "../../config/config.ts";
import { LinkedList, type TakeOut } from "../../core/collections.ts";
import { GatewayError, type GatewayErrorOptions } from "../../core/error.ts";
import type { RequestRecord } from "../../observe/record.ts";
import type { AttemptControl } from "../exchange.ts";

/** A request that is being served. */
export interface Admitted {
  readonly record: RequestRecord;
  /** To the upstreams. */
  readonly control: AttemptControl;
}

/** Keeps count of what is being served, and turns away what would be too much. */
export interface Admission {
  /**
   * Lets a request in until its record finishes.
   *
   * @throws {GatewayError} `overloaded` when the gateway is full or draining, `rate_limited` when the caller
   * is at its own limit; both with `Retry-After`.
   */
  enter(admitted: Admitted, caller: Caller, config: Config): void;
  /** Takes one of a connection's places; `undefined` when there is none. */
  occupy(connection: Connection): Leave | undefined;
  /** How many requests are being served here. */
  readonly active: number;
  /** Whether new requests are turned away. */
  readonly draining: boolean;
  /** Turns new requests away from now on; resolves when none is being served any more. */
  drain(): Promise<void>;
  /** Ends every request that is still being served. */
  cut(): void;
}

/**
 * An open door.
 *
 * @param counts What the limits hold for; default: this gateway alone.
 */
export function createAdmission(
  counts: RunningCounts = createRunningCounts(),
): Admission {
  const admitted = new LinkedList<Admitted>();
  const drained = Promise.withResolvers<void>();
  let draining = false;

  function leave(takeOut: TakeOut): void {
    takeOut();
    counts.requests.remove();
    if (draining && admitted.size === 0) drained.resolve();
  }

  return {
    enter(one, caller, config) {
      if (draining) throw shuttingDown();
      if (!counts.requests.add(config.server.maxConcurrentRequests)) {
        throw overloadedGateway("it serves as many requests as it may", {
          limit:
            `${config.server.maxConcurrentRequests} concurrent requests of the gateway`,
        });
      }
      const { sha256, maxConcurrent } = caller;
      const leaveCaller = counts.callers.take(sha256, maxConcurrent);
      if (leaveCaller === undefined) {
        counts.requests.remove();
        throw tooMany(maxConcurrent);
      }
      one.record.onFinish(leaveCaller);
      const takeOut = admitted.add(one);
      one.record.onFinish(() => leave(takeOut));
    },
    occupy: ({ id, maxConcurrent }) =>
      counts.connections.take(id, maxConcurrent),
    get active() {
      return admitted.size;
    },
    get draining() {
      return draining;
    },
    drain() {
      draining = true;
      if (admitted.size === 0) drained.resolve();
      return drained.promise;
    },
    cut() {
      for (const { control } of [...admitted]) control.cancel(shuttingDown());
    },
  };
}

/** Another request over the same connection would meet the same end: another one may lead to another instance. */
function shuttingDown(): GatewayError {
  return overloadedGateway("it is shutting down", {
    headers: { connection: "close" },
  });
}

function tooMany(maxConcurrent: number): GatewayError {
  return new GatewayError(
    "rate_limited",
    "Cannot take another request: this token already has as many running as it may, wait for one to end",
    {
      code: "token_concurrency_exceeded",
      headers: { "retry-after": "1" },
      limit: `${maxConcurrent} concurrent requests of the token`,
    },
  );
}

const RETRY_SOON = { "retry-after": "1" };

/**
 * Returns the error for a request that the gateway itself has no room for.
 *
 * @param why The second half of a sentence: "it serves as many requests as it may".
 * @param options.headers Beside `retry-after`.
 */
export function overloadedGateway(
  why: string,
  { headers, ...options }: Pick<GatewayErrorOptions, "headers" | "limit"> = {},
): GatewayError {
  return new GatewayError(
    "overloaded",
    `The gateway cannot take the request: ${why}, try again in a moment`,
    {
      ...options,
      code: "gateway_overloaded",
      headers: { ...RETRY_SOON, ...headers },
    },
  );
}

/** Gives a place back; only the first call counts. */
type Leave = () => void;

/** How many requests are being served, against a limit. */
interface RunningCount {
  /** Counts one more, unless that would pass `most`; says whether it did. */
  add(most: number): boolean;
  /** Counts one less. */
  remove(): void;
}

/** How many requests run under each key, against limits. */
export interface RunningCountsByKey {
  /** Counts one more under `key`, unless that would pass `most`; `undefined` when it would. */
  take(key: string, most: number | undefined): Leave | undefined;
}

/** Everything that is limited in how much of it may run at once. */
export interface RunningCounts {
  /** The whole gateway's. */
  readonly requests: RunningCount;
  /** By the SHA-256 of a caller's first token. */
  readonly callers: RunningCountsByKey;
  /** By the id of a connection. */
  readonly connections: RunningCountsByKey;
}

/** Nothing runs; what one thread counts for itself. */
function createRunningCounts(): RunningCounts {
  return {
    requests: createRunningCount(),
    callers: createRunningCountsByKey(),
    connections: createRunningCountsByKey(),
  };
}

function createRunningCount(): RunningCount {
  let count = 0;
  return {
    add(most) {
      if (count >= most) return false;
      count += 1;
      return true;
    },
    remove: () => void (count -= 1),
  };
}

/** Counts nothing under any key. */
export function createRunningCountsByKey(): RunningCountsByKey {
  /** What is at 0 stays in, since there are few keys and most come again: to take one out and put it in costs more. */
  const counts = new Map<string, number>();

  function give(key: string): void {
    counts.set(key, (counts.get(key) ?? 1) - 1);
  }

  return {
    take(key, most) {
      const count = counts.get(key) ?? 0;
      if (most !== undefined && count >= most) return undefined;
      counts.set(key, count + 1);
      return once(() => give(key));
    },
  };
}

/** What does its work the first time it is called. */
export function once(work: () => void): Leave {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
