import type {
  Caller,
  Config,
  Connection,
  Deployment,
} from "../../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import { FAILURE_WORD_BY_KIND } from "../../observe/facts.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { GoodReading } from "../../quotas/reading.ts";
import { hasRoom, usedUpMs } from "../../quotas/window.ts";
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
  LONG_MS,
  tokenDigest,
} from "./cool_down.ts";

/** The options of {@linkcode Health.begin}. */
export interface BeginOptions {
  readonly caller: Caller;
  /** True when the request has tried the deployment before. Such a request is always admitted. */
  readonly isRepeat: boolean;
  /** True when no other deployment is left. Only then may the attempt run beside a probe without a result. */
  readonly hasNoAlternative: boolean;
  /** True when no other deployment can serve. Only then may the attempt probe a wait that the provider asked for. */
  readonly isLastResort?: boolean;
}

interface HealthOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** Sends each cool-down to the other threads and replicas; default: there are no others. */
  readonly publish?: ((coolDown: CoolDown) => void) | undefined;
  /** Called at each shortage of this machine. */
  readonly onShortage?: (() => void) | undefined;
}

/** The time for which a shortage is reported, in milliseconds. It is longer than the interval of most health checks. */
export const SHORTAGE_MS = 60_000;

/**
 * Tracks failing connections and keeps requests away from them (docs/design.md#failover). Its state belongs to objects
 * of the configuration, so a reload clears it.
 */
export class Health {
  readonly #options: HealthOptions;
  readonly #breakers = new WeakMap<object, BreakerByToken>();
  /** The connections whose provider asked for a wait. Only these are checked after an answer. */
  readonly #limited = new WeakSet<Connection>();
  #shortageUntilMs = -Infinity;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** Returns the rest of a deployment's cool-down for a caller, in milliseconds; 0 when an attempt may begin. */
  restMs(deployment: Deployment, caller: Caller): number {
    return this.#longest("restMs", deployment, caller);
  }

  /**
   * Returns the wait that the provider asked for, however long, in milliseconds. If the provider asked for no wait,
   * returns the rest of the cool-down. The wait decides whether a quota counts as used up.
   */
  waitMs(deployment: Deployment, caller: Caller): number {
    return this.#longest("waitMs", deployment, caller);
  }

  /** Returns the time until the next request may try a deployment, in milliseconds. No response names a later time. */
  nextTryMs(deployment: Deployment, caller: Caller): number {
    return this.#longest("nextTryMs", deployment, caller);
  }

  /** Returns true when a deployment cools down for a caller only because its provider asked for a wait. */
  isRequestedWait({ connection, model }: Deployment, caller: Caller): boolean {
    const token = tokenDigest(caller);
    const isWell = (this.#breakers.get(connection)?.restMs(token) ?? 0) === 0;
    return isWell &&
      this.#breakers.get(model)?.isRequestedWait(token) === true;
  }

  /** Returns the cause of a deployment's cool-down for a caller, if only an administrator can fix it. */
  lastingCause(
    { connection, model }: Deployment,
    caller: Caller,
  ): LastingCause | undefined {
    const token = tokenDigest(caller);
    let longestMs = 0;
    let cause: LastingCause | undefined;
    for (const subject of [connection, model]) {
      const breaker = this.#breakers.get(subject);
      const ms = breaker?.restMs(token) ?? 0;
      if (ms > longestMs) [longestMs, cause] = [ms, breaker?.cause(token)];
    }
    return cause;
  }

  /**
   * Begins an attempt.
   *
   * @returns `undefined` during a cool-down.
   */
  begin(
    deployment: Deployment,
    options: BeginOptions,
  ): AttemptReport | undefined {
    const connection = this.#breakerOf(deployment.connection);
    const model = this.#breakerOf(deployment.model);
    const { caller, isRepeat } = options;
    const mayBegin = isRepeat ||
      admits(connection, options) && admits(model, options);
    if (!mayBegin) return undefined;
    return new AttemptReport({
      connection,
      model,
      token: tokenDigest(caller),
      isRepeat,
      onCooling: (cooling) => this.#report(deployment, caller, cooling),
      onLimitProbe: this.#probeReporter(deployment, caller),
      onShortage: () => {
        this.noteShortage();
        this.#options.onShortage?.();
      },
    });
  }

  /**
   * Ends the long waits that the provider of a connection asked for, if a newer reading of the connection's quota shows
   * room. Calls `read` only if there is such a wait.
   */
  noteReading(
    connection: Connection,
    read: () => GoodReading | undefined,
  ): void {
    if (!this.#limited.has(connection)) return;
    const waiting = connection.models
      .flatMap((model) => this.#breakers.get(model) ?? [])
      .filter((breaker) => breaker.isWaiting);
    if (waiting.length === 0) return void this.#limited.delete(connection);
    const reading = read();
    if (reading === undefined || !hasRoom(reading.windows)) return;
    for (const breaker of waiting) breaker.noteRoom(reading.checkedAtMs);
  }

  /** Treats a reading of `/limits` with a used-up quota like a 429 that names the reset. */
  noteUsedUp(connection: Connection, reading: GoodReading): void {
    const { clock } = this.#options;
    const waitMs = usedUpMs(reading.windows, clock.now());
    if (waitMs < LONG_MS) return;
    this.#limited.add(connection);
    for (const model of connection.models) {
      this.#breakerOf(model).noteUsedUp(waitMs);
    }
  }

  /** Remembers a shortage of another thread of the same machine. */
  noteShortage(): void {
    this.#shortageUntilMs = this.#options.clock.elapsedMs() + SHORTAGE_MS;
  }

  /** Returns true when an attempt of the last minute failed by a shortage of the gateway's own machine. */
  hasShortage(): boolean {
    return this.#options.clock.elapsedMs() < this.#shortageUntilMs;
  }

  /** Applies the cool-down of another thread or replica. A connection that is not in the configuration is ignored. */
  follow(
    { connectionId, model: modelId, ...cooling }: CoolDown,
    config: Pick<Config, "connections">,
  ): void {
    const connection = config.connections
      .find(({ id }) => id === connectionId);
    const subject = modelId === undefined
      ? connection
      : connection?.models.find(({ id }) => id === modelId);
    if (connection === undefined || subject === undefined) return;
    if (cooling.requestedMs !== undefined) this.#limited.add(connection);
    this.#breakerOf(subject).follow(cooling);
  }

  #breakerOf(subject: object): BreakerByToken {
    const known = this.#breakers.get(subject);
    if (known !== undefined) return known;
    const breaker = new BreakerByToken(this.#options.clock);
    this.#breakers.set(subject, breaker);
    return breaker;
  }

  /** Reads a time from both breakers of a deployment, and returns the longer time. */
  #longest(
    read: "restMs" | "waitMs" | "nextTryMs",
    { connection, model }: Deployment,
    caller: Caller,
  ): number {
    const token = tokenDigest(caller);
    return Math.max(
      this.#breakers.get(connection)?.[read](token) ?? 0,
      this.#breakers.get(model)?.[read](token) ?? 0,
    );
  }

  #report(
    { connection, model }: Deployment,
    caller: Caller,
    { ms, isForAll, failure, requestedMs }: AttemptCooling,
  ): void {
    const { log, metrics, publish } = this.#options;
    const coolDown = {
      model: isOfModel(failure) ? model.id : undefined,
      token: isForAll ? undefined : tokenDigest(caller),
      ms,
    };
    const requestedByProvider = requestedMs !== undefined;
    if (requestedByProvider) this.#limited.add(connection);
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

  /** Returns a function that publishes the beginning and the end of a probe. */
  #probeReporter(deployment: Deployment, caller: Caller) {
    const { clock, publish } = this.#options;
    let untilMs = 0;
    return (probe: LimitProbe, isForAll: boolean): void => {
      const nowMs = clock.elapsedMs();
      if (probe === "begun") untilMs = nowMs + this.restMs(deployment, caller);
      const ms = Math.max(1, untilMs - nowMs);
      publish?.({
        connectionId: deployment.connection.id,
        model: deployment.model.id,
        token: isForAll ? undefined : tokenDigest(caller),
        ...{ ms, requestedMs: ms, probe },
      });
    };
  }
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
