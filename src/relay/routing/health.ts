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
import type { CoolDown, LastingCause } from "./cool_down.ts";

/** Knows which connections fail, and keeps requests away from them for a while (docs/design.md#failover). */
export interface Health {
  /** How long a deployment is left alone by a caller yet, in milliseconds; 0 when it may be asked now. */
  restMs(deployment: Deployment, caller: Caller): number;
  /** Returns why a caller leaves a deployment alone, where only an administrator can mend that. */
  lastingCause(
    deployment: Deployment,
    caller: Caller,
  ): LastingCause | undefined;
  /**
   * Begins an attempt.
   *
   * @returns `undefined` while the deployment is left alone.
   */
  begin(deployment: Deployment, asker: Asker): AttemptReport | undefined;
  /** Leaves alone what another gateway leaves alone. What the configuration does not have is passed over. */
  follow(coolDown: CoolDown, config: Pick<Config, "connections">): void;
}

/** Who wants to ask a deployment. */
export interface Asker {
  readonly caller: Caller;
  /** Whether the request has asked the deployment before; then nothing holds it up. */
  readonly isRepeat: boolean;
  /** Whether it has nowhere else to go: only then it goes beside a probe that has shown nothing yet. */
  readonly hasNoAlternative: boolean;
}

/** What {@linkcode createHealth} goes by, and who is told of every cool-down. */
interface HealthOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** Tells other gateways what is left alone; default: there is none. */
  readonly tell?: ((coolDown: CoolDown) => void) | undefined;
}

/** Nothing is known yet. What becomes known is held by the objects of the config: a reload forgets it. */
export function createHealth(
  { clock, log, metrics, tell }: HealthOptions,
): Health {
  const breakers = new WeakMap<object, BreakerByToken>();

  function breakerOf(subject: object): BreakerByToken {
    const known = breakers.get(subject);
    if (known !== undefined) return known;
    const breaker = new BreakerByToken(clock);
    breakers.set(subject, breaker);
    return breaker;
  }

  function restMs({ connection, model }: Deployment, { name }: Caller): number {
    return Math.max(
      breakers.get(connection)?.restMs(name) ?? 0,
      breakers.get(model)?.restMs(name) ?? 0,
    );
  }

  function lastingCauseOf(
    { connection, model }: Deployment,
    { name }: Caller,
  ): LastingCause | undefined {
    let longestMs = 0;
    let cause: LastingCause | undefined;
    for (const subject of [connection, model]) {
      const breaker = breakers.get(subject);
      const ms = breaker?.restMs(name) ?? 0;
      if (ms > longestMs) [longestMs, cause] = [ms, breaker?.cause(name)];
    }
    return cause;
  }

  function report(
    { connection, model }: Deployment,
    caller: Caller,
    { ms, isForAll, failure, requestedByProvider }: AttemptCooling,
  ): void {
    const coolDown = {
      model: isOfModel(failure) ? model.id : undefined,
      token: isForAll ? undefined : caller.name,
      ms,
    };
    const cause = requestedByProvider ? undefined : lastingCause(failure);
    tell?.({
      ...coolDown,
      connectionId: connection.id,
      requestedByProvider,
      cause,
    });
    if (requestedByProvider) return;
    metrics?.cooledDown(connection.name);
    log.write("cooling_down", {
      connection: connection.name,
      model: coolDown.model,
      token: coolDown.token,
      failure: FAILURE_WORD_BY_KIND[failure.kind],
      retry_ms: ms,
    });
  }

  return {
    restMs,
    lastingCause: lastingCauseOf,
    begin(deployment, asker) {
      const connection = breakerOf(deployment.connection);
      const model = breakerOf(deployment.model);
      const { caller, isRepeat } = asker;
      const mayBegin = isRepeat ||
        mayAsk(connection, asker) && mayAsk(model, asker);
      if (!mayBegin) return undefined;
      return new AttemptReport({
        connection,
        model,
        token: caller.name,
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

/** Whether a request that is new to something may ask it now. */
function mayAsk(
  breaker: BreakerByToken,
  { caller: { name }, hasNoAlternative }: Asker,
): boolean {
  return breaker.restMs(name) === 0 &&
    (hasNoAlternative || !breaker.isProbing(name));
}
