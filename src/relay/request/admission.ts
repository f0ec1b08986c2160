import type { Caller, Config, Connection } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import {
  LinkedList,
  type TakeOut,
} from "../../core/collections/linked_list.ts";
import type { RequestRecord } from "../../observe/record.ts";
import type { AttemptControl } from "../attempt_control.ts";
import { overloadedGateway } from "./overloaded.ts";
import {
  createRunningCounts,
  type Leave,
  type RunningCounts,
} from "./running_counts.ts";

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
