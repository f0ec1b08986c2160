import type { Caller, Config, Connection } from "../../config/config.ts";
import { LinkedList, type TakeOut } from "@gateway/base/collections";
import type { HeaderFields } from "@gateway/base/header_fields";
import { GatewayError, type GatewayErrorOptions } from "@gateway/base/error";
import type { RequestRecord } from "../../observe/record.ts";
import type { AttemptControl, Holds } from "../exchange.ts";
import { CHALLENGE, digestsIn } from "./authenticate.ts";

/** A request that is being served. */
interface Admitted {
  readonly record: RequestRecord;
  readonly holds: Holds;
  readonly headers: HeaderFields;
  /** Controls the attempts of the request. */
  readonly control: AttemptControl;
}

/**
 * Ends another request's wait with `error`, so that a new request gets the place. Returns false if no wait can be
 * ended.
 */
type MakeRoom = (caller: Caller, newcomer: Admitted, error: Error) => boolean;

/** Counts running requests and rejects those that exceed a limit. */
export interface Admission {
  /**
   * Admits a request until it ends. If the gateway is full, another request that waits for its turn may have to give
   * way.
   *
   * @throws {GatewayError} `overloaded` when the gateway is full or draining, `rate_limited` when the caller has
   * reached its limit. Both errors have a `Retry-After`.
   */
  enter(admitted: Admitted, caller: Caller, config: Config): void;
  /** Takes a slot of a connection; `undefined` when none is free. */
  occupy(connection: Connection): Leave | undefined;
  /** The number of requests that are being served here. */
  readonly active: number;
  /** True when new requests are rejected. */
  readonly draining: boolean;
  /** Rejects new requests from now on. Resolves when no request is running. */
  drain(): Promise<void>;
  /** Calls `listener` when {@linkcode Admission.drain} is called. */
  onDrain(listener: () => void): void;
  /** Calls `makeRoom` when a request finds the gateway full. */
  onFull(makeRoom: MakeRoom): void;
  /** Aborts all running requests. */
  cut(): void;
  /** Aborts the running requests with one of these tokens, by their SHA-256. */
  endTokens(removed: ReadonlySet<string>): void;
}

/**
 * Creates an admission without requests.
 *
 * @param counts The counts that the limits apply to; default: the counts of this gateway alone.
 */
export function createAdmission(
  counts: RunningCounts = createRunningCounts(),
): Admission {
  const admitted = new LinkedList<Admitted>();
  const drained = Promise.withResolvers<void>();
  const onDrain: (() => void)[] = [];
  let makeRoom: MakeRoom = () => false;
  let draining = false;

  function leave(takeOut: TakeOut): void {
    takeOut();
    counts.requests.remove();
    if (draining && admitted.size === 0) drained.resolve();
  }

  return {
    enter(one, caller, config) {
      if (draining) throw shuttingDown();
      const { maxConcurrentRequests: most } = config.server;
      const { sha256, maxConcurrent } = caller;
      const hasPlace = counts.requests.add(most);
      const leaveCaller = counts.callers.take(sha256, maxConcurrent);
      if (!hasPlace) {
        const error = overloadedGateway(
          "the gateway serves as many requests as it may",
          { limit: `${most} concurrent requests of the gateway` },
        );
        if (leaveCaller === undefined || !makeRoom(caller, one, error)) {
          leaveCaller?.();
          throw error;
        }
        // The other request leaves its place as soon as it has seen the error.
        counts.requests.add(Infinity);
      }
      if (leaveCaller === undefined) {
        counts.requests.remove();
        throw tooMany(maxConcurrent);
      }
      const takeOut = admitted.add(one);
      one.holds.leave = () => {
        leaveCaller();
        leave(takeOut);
      };
      if (one.record.isFinished()) one.holds.leave();
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
      for (const listener of onDrain.splice(0)) listener();
      if (admitted.size === 0) drained.resolve();
      return drained.promise;
    },
    onDrain: (listener) => void onDrain.push(listener),
    onFull: (listener) => void (makeRoom = listener),
    cut() {
      for (const { control } of [...admitted]) control.cancel(shuttingDown());
    },
    endTokens(removed) {
      for (const { headers, control } of [...admitted]) {
        const sent = digestsIn(headers);
        if (sent.some((one) => removed.has(one))) {
          control.cancel(tokenRemoved());
        }
      }
    },
  };
}

/**
 * Returns the error of a gateway that shuts down. The error closes the connection, so the client opens one elsewhere.
 */
export function shuttingDown(): GatewayError {
  return overloadedGateway("the gateway is shutting down", {
    headers: { connection: "close" },
  });
}

const TOKEN_REMOVED = "token_removed";

function tokenRemoved(): GatewayError {
  return new GatewayError(
    "unauthenticated",
    "Cannot finish the request: the administrator has removed its token. Ask for a new one.",
    { code: TOKEN_REMOVED, headers: CHALLENGE },
  );
}

/** Returns true for the reason with which {@linkcode Admission.endTokens} aborts a request. */
export function isTokenRemoved(reason: unknown): boolean {
  return reason instanceof GatewayError && reason.code === TOKEN_REMOVED;
}

function tooMany(maxConcurrent: number): GatewayError {
  return new GatewayError(
    "rate_limited",
    "Cannot take another request: this token has reached its limit of concurrent requests. Wait for one to end.",
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
 * @param why The reason, as a clause: "the gateway serves as many requests as it may".
 * @param options.headers Further headers beside `retry-after`.
 */
export function overloadedGateway(
  why: string,
  { headers, ...options }: Pick<GatewayErrorOptions, "headers" | "limit"> = {},
): GatewayError {
  return new GatewayError(
    "overloaded",
    `Cannot take the request: ${why}. Try again in a moment.`,
    {
      ...options,
      code: "gateway_overloaded",
      headers: { ...RETRY_SOON, ...headers },
    },
  );
}

/** Frees a slot; only the first call counts. */
type Leave = () => void;

/** The number of running requests, with a limit. */
interface RunningCount {
  /** Counts one more request, unless the count would exceed `most`. Returns true when the request was counted. */
  add(most: number): boolean;
  /** Counts one request less. */
  remove(): void;
}

/** The number of running requests of each key, with limits. */
export interface RunningCountsByKey {
  /** Counts one more request under `key`. Returns `undefined` when the count would exceed `most`. */
  take(key: string, most: number | undefined): Leave | undefined;
}

/** The counts of running requests: of the gateway, its callers and its connections. */
export interface RunningCounts {
  /** The requests of the whole gateway. */
  readonly requests: RunningCount;
  /** The requests of a caller, by the SHA-256 of its first token. */
  readonly callers: RunningCountsByKey;
  /** The requests to a connection, by its id. */
  readonly connections: RunningCountsByKey;
}

/** Creates empty counts for one thread. */
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

/** Creates empty counts. */
export function createRunningCountsByKey(): RunningCountsByKey {
  /** A key stays at 0, because removing it and adding it again costs more. There are few keys, and most come again. */
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

/** Returns a function that calls `work` the first time only. */
export function once(work: () => void): Leave {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
