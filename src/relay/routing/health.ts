import type { Caller, Config, Deployment } from "../../config/config.ts";
import type { Clock } from "../../core/time/timers.ts";
import { FAILURE_WORD_BY_KIND } from "../../observe/facts.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { lastingCause } from "../attempt_failure.ts";
import {
  type AttemptCooling,
  AttemptReport,
  isOfModel,
} from "./attempt_report.ts";
import { BreakerByToken } from "./breaker_by_token.ts";
import { type CoolDown, type LastingCause, tokenDigest } from "./cool_down.ts";

/** Tracks failing connections and keeps requests away from them (docs/design.md#failover). */
export interface Health {
  /** Returns the rest of a deployment's cool-down for a caller, in milliseconds; 0 when an attempt may begin. */
  restMs(deployment: Deployment, caller: Caller): number;
  /**
   * Returns the wait that a rejected caller may read, in milliseconds. It is longer than the rest of the cool-down where
   * the provider asked for more than an hour.
   */
  waitMs(deployment: Deployment, caller: Caller): number;
  /** Returns the cause of a deployment's cool-down for a caller, if only an administrator can fix it. */
  lastingCause(
    deployment: Deployment,
    caller: Caller,
  ): LastingCause | undefined;
  /**
   * Begins an attempt.
   *
   * @returns `undefined` during a cool-down.
   */
  begin(
    deployment: Deployment,
    options: BeginOptions,
  ): AttemptReport | undefined;
  /** Applies the cool-down of another thread or replica. A connection that is not in the configuration is ignored. */
  follow(coolDown: CoolDown, config: Pick<Config, "connections">): void;
}

/** The options of {@linkcode Health.begin}. */
export interface BeginOptions {
  readonly caller: Caller;
  /** True when the request has tried the deployment before; then it is always admitted. */
  readonly isRepeat: boolean;
  /** True when no other deployment is left. Only then may the attempt run beside a probe without a result. */
  readonly hasNoAlternative: boolean;
}

interface HealthOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** Sends each cool-down to the other threads and replicas; default: there are none. */
  readonly publish?: ((coolDown: CoolDown) => void) | undefined;
}

/** Creates a health tracker without failures. The objects of the configuration are its keys, so a reload clears it. */
export function createHealth(
  { clock, log, metrics, publish }: HealthOptions,
): Health {
  const breakers = new WeakMap<object, BreakerByToken>();

  function breakerOf(subject: object): BreakerByToken {
    const known = breakers.get(subject);
    if (known !== undefined) return known;
    const breaker = new BreakerByToken(clock);
    breakers.set(subject, breaker);
    return breaker;
  }

  function restMs({ connection, model }: Deployment, caller: Caller): number {
    const token = tokenDigest(caller);
    return Math.max(
      breakers.get(connection)?.restMs(token) ?? 0,
      breakers.get(model)?.restMs(token) ?? 0,
    );
  }

  function waitMs({ connection, model }: Deployment, caller: Caller): number {
    const token = tokenDigest(caller);
    return Math.max(
      breakers.get(connection)?.waitMs(token) ?? 0,
      breakers.get(model)?.waitMs(token) ?? 0,
    );
  }

  function lastingCauseOf(
    { connection, model }: Deployment,
    caller: Caller,
  ): LastingCause | undefined {
    const token = tokenDigest(caller);
    let longestMs = 0;
    let cause: LastingCause | undefined;
    for (const subject of [connection, model]) {
      const breaker = breakers.get(subject);
      const ms = breaker?.restMs(token) ?? 0;
      if (ms > longestMs) [longestMs, cause] = [ms, breaker?.cause(token)];
    }
    return cause;
  }

  function report(
    { connection, model }: Deployment,
    caller: Caller,
    { ms, isForAll, failure, requestedMs }: AttemptCooling,
  ): void {
    const coolDown = {
      model: isOfModel(failure) ? model.id : undefined,
      token: isForAll ? undefined : tokenDigest(caller),
      ms,
    };
    const requestedByProvider = requestedMs !== undefined;
    const cause = requestedByProvider ? undefined : lastingCause(failure);
    publish?.({
      ...coolDown,
      connectionId: connection.id,
      requestedMs,
      cause,
    });
    if (requestedByProvider) return;
    const word = FAILURE_WORD_BY_KIND[failure.kind];
    metrics?.cooledDown(connection.name, word);
    log.write("cooling_down", {
      connection: connection.name,
      model: coolDown.model,
      token: isForAll ? undefined : caller.name,
      failure: word,
      retry_ms: ms,
    });
  }

  return {
    restMs,
    waitMs,
    lastingCause: lastingCauseOf,
    begin(deployment, options) {
      const connection = breakerOf(deployment.connection);
      const model = breakerOf(deployment.model);
      const { caller, isRepeat } = options;
      const mayBegin = isRepeat ||
        admits(connection, options) && admits(model, options);
      if (!mayBegin) return undefined;
      return new AttemptReport({
        connection,
        model,
        token: tokenDigest(caller),
        isRepeat,
        onCooling: (cooling) => report(deployment, caller, cooling),
      });
    },
    follow({ connectionId, model: modelId, ...cooling }, config) {
      const connection = config.connections
        .find(({ id }) => id === connectionId);
      const subject = modelId === undefined
        ? connection
        : connection?.models.find(({ id }) => id === modelId);
      if (subject === undefined) return;
      breakerOf(subject).follow(cooling);
    },
  };
}

/** Returns true when a request's first attempt may begin. */
function admits(
  breaker: BreakerByToken,
  { caller, hasNoAlternative }: BeginOptions,
): boolean {
  const token = tokenDigest(caller);
  return breaker.restMs(token) === 0 &&
    (hasNoAlternative || !breaker.isProbing(token));
}
