import type {
  Caller,
  Config,
  Connection,
  Deployment,
} from "../../config/config.ts";
import type { Clock } from "../../core/time/timers.ts";
import { FAILURE_WORD_BY_KIND } from "../../observe/facts.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { GoodReading } from "../../quotas/reading.ts";
import { hasRoom } from "../../quotas/window.ts";
import { lastingCause } from "../attempt_failure.ts";
import {
  type AttemptCooling,
  AttemptReport,
  isOfModel,
} from "./attempt_report.ts";
import { BreakerByToken } from "./breaker_by_token.ts";
import {
  type CoolDown,
  type LastingCause,
  type LimitProbe,
  tokenDigest,
} from "./cool_down.ts";

/** Tracks failing connections and keeps requests away from them (docs/design.md#failover). */
export interface Health {
  /** Returns the rest of a deployment's cool-down for a caller, in milliseconds; 0 when an attempt may begin. */
  restMs(deployment: Deployment, caller: Caller): number;
  /**
   * Returns the wait that the provider asked for, in milliseconds, however long, or else the rest of the cool-down. It
   * decides whether a quota is used up.
   */
  waitMs(deployment: Deployment, caller: Caller): number;
  /** Returns the time until the next request may try a deployment, in milliseconds. Callers read no later time. */
  nextTryMs(deployment: Deployment, caller: Caller): number;
  /** Returns true when a deployment cools down for a caller only because its provider asked for a wait. */
  isRequestedWait(deployment: Deployment, caller: Caller): boolean;
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
  /**
   * Ends the long waits that the provider of a connection asked for, if a newer reading of its quota shows room. It calls
   * `read` only if there is such a wait.
   */
  noteReading(
    connection: Connection,
    read: () => GoodReading | undefined,
  ): void;
  /** Remembers a shortage of another thread of the same machine. */
  noteShortage(): void;
  /** Returns true when an attempt of the last minute failed by a shortage of the gateway's own machine. */
  hasShortage(): boolean;
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
  /** True when no other deployment can serve at all. Only then may the attempt probe a wait that the provider asked for. */
  readonly isLastResort?: boolean;
}

interface HealthOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** Sends each cool-down to the other threads and replicas; default: there are none. */
  readonly publish?: ((coolDown: CoolDown) => void) | undefined;
  /** Called at each shortage of this machine. */
  readonly onShortage?: (() => void) | undefined;
}

/** The time for which a shortage shows, in milliseconds: longer than the period of most probes. */
export const SHORTAGE_MS = 60_000;

/** Creates a health tracker without failures. The objects of the configuration are its keys, so a reload clears it. */
export function createHealth(
  { clock, log, metrics, publish, onShortage }: HealthOptions,
): Health {
  const breakers = new WeakMap<object, BreakerByToken>();
  let shortageUntilMs = -Infinity;
  /** The connections of which a provider asked for a wait, so that no other costs time after each answer. */
  const limited = new WeakSet<Connection>();

  function breakerOf(subject: object): BreakerByToken {
    const known = breakers.get(subject);
    if (known !== undefined) return known;
    const breaker = new BreakerByToken(clock);
    breakers.set(subject, breaker);
    return breaker;
  }

  function noteShortage(): void {
    shortageUntilMs = clock.elapsedMs() + SHORTAGE_MS;
  }

  /** Returns a function that reads a time of both breakers of a deployment, and returns the longer one. */
  function longest(read: "restMs" | "waitMs" | "nextTryMs") {
    return ({ connection, model }: Deployment, caller: Caller): number => {
      const token = tokenDigest(caller);
      return Math.max(
        breakers.get(connection)?.[read](token) ?? 0,
        breakers.get(model)?.[read](token) ?? 0,
      );
    };
  }

  const restMs = longest("restMs");

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
    if (requestedByProvider) limited.add(connection);
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

  /** Returns a function that sends the news of an attempt's probe, if it is one. */
  function probeReporter(deployment: Deployment, caller: Caller) {
    let untilMs = 0;
    return (probe: LimitProbe, isForAll: boolean): void => {
      const nowMs = clock.elapsedMs();
      if (probe === "begun") untilMs = nowMs + restMs(deployment, caller);
      const ms = Math.max(1, untilMs - nowMs);
      publish?.({
        connectionId: deployment.connection.id,
        model: deployment.model.id,
        token: isForAll ? undefined : tokenDigest(caller),
        ...{ ms, requestedMs: ms, probe },
      });
    };
  }

  return {
    restMs,
    waitMs: longest("waitMs"),
    nextTryMs: longest("nextTryMs"),
    isRequestedWait({ connection, model }, caller) {
      const token = tokenDigest(caller);
      const isWell = (breakers.get(connection)?.restMs(token) ?? 0) === 0;
      return isWell && breakers.get(model)?.isRequestedWait(token) === true;
    },
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
        onLimitProbe: probeReporter(deployment, caller),
        onShortage() {
          noteShortage();
          onShortage?.();
        },
      });
    },
    noteShortage,
    hasShortage: () => clock.elapsedMs() < shortageUntilMs,
    noteReading(connection, read) {
      if (!limited.has(connection)) return;
      const waiting = connection.models
        .flatMap((model) => breakers.get(model) ?? [])
        .filter((breaker) => breaker.isWaiting);
      if (waiting.length === 0) return void limited.delete(connection);
      const reading = read();
      if (reading === undefined || !hasRoom(reading.windows)) return;
      for (const breaker of waiting) breaker.noteRoom(reading.checkedAtMs);
    },
    follow({ connectionId, model: modelId, ...cooling }, config) {
      const connection = config.connections
        .find(({ id }) => id === connectionId);
      const subject = modelId === undefined
        ? connection
        : connection?.models.find(({ id }) => id === modelId);
      if (connection === undefined || subject === undefined) return;
      if (cooling.requestedMs !== undefined) limited.add(connection);
      breakerOf(subject).follow(cooling);
    },
  };
}

/** Returns true when a request's first attempt may begin. */
function admits(
  breaker: BreakerByToken,
  { caller, hasNoAlternative, isLastResort = false }: BeginOptions,
): boolean {
  const token = tokenDigest(caller);
  if (breaker.restMs(token) > 0) {
    return isLastResort && breaker.nextTryMs(token) === 0;
  }
  return hasNoAlternative || !breaker.isProbing(token);
}
