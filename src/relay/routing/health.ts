import type { Caller, Deployment } from "../../config/config.ts";
import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import {
  BreakerByToken,
  type Cooling,
  type TokenAttempt,
} from "./breaker_by_token.ts";
import {
  type AttemptFailure,
  type AttemptFailureKind,
  LOG_WORD_BY_KIND,
} from "../attempt_failure.ts";

/** Knows which connections fail, and keeps requests away from them for a while (docs/design.md#failover). */
export interface Health {
  /** How long a deployment is left alone by a caller yet, in milliseconds; 0 when it may be asked now. */
  restMs(deployment: Deployment, caller: Caller): number;
  /**
   * Begins an attempt.
   *
   * @returns `undefined` while the deployment is left alone.
   */
  begin(deployment: Deployment, asker: Asker): AttemptReport | undefined;
}

/** Who wants to ask a deployment. */
export interface Asker {
  readonly caller: Caller;
  /** Whether the request has asked the deployment before; then nothing holds it up. */
  readonly isRepeat: boolean;
  /** Whether it has nowhere else to go: only then it goes beside a probe that has shown nothing yet. */
  readonly isStranded: boolean;
}

/** Takes in what an attempt shows of its deployment. Told at most one of `succeeded`, `failed` and `dismissed`; later ones do not count. */
export interface AttemptReport {
  /** Whether it is to show that the deployment is well again; nothing else is asked of it meanwhile. */
  readonly isProbe: boolean;
  /** An answer has begun. */
  answered(): void;
  /** An answer came to its end. */
  succeeded(): void;
  failed(failure: AttemptFailure): void;
  /** The attempt says nothing of the deployment, as when the caller left. */
  dismissed(): void;
}

/**
 * What a failure speaks of. What was answered, or not, may be due to one model alone: a bad model must not
 * take the connection's other models with it. `request` is due to what the caller asks for and shows
 * that both are well; of `nobody` there is nothing to learn.
 */
const SUBJECT_BY_KIND = {
  unreachable: "connection",
  misconfigured: "connection",
  authentication: "connection",
  broken: "model",
  silent: "model",
  overloaded: "model",
  timeout: "model",
  server: "model",
  rate_limited: "model",
  quota: "model",
  permission: "model",
  forbidden: "model",
  oversized: "request",
  context_too_long: "request",
  invalid_request: "request",
  too_large: "request",
  filtered: "request",
  not_found: "request",
  untranslatable: "nobody",
} as const satisfies Record<AttemptFailureKind, string>;

/** What {@linkcode createHealth} goes by, and who is told of every cool-down. */
export interface HealthOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
}

/** Nothing is known yet. What becomes known is held by the objects of the config: a reload forgets it. */
export function createHealth(
  { clock, log, metrics }: HealthOptions,
): Health {
  const breakers = new WeakMap<object, BreakerByToken>();

  function breakerOf(subject: object): BreakerByToken {
    const known = breakers.get(subject);
    if (known !== undefined) return known;
    const breaker = new BreakerByToken(clock);
    breakers.set(subject, breaker);
    return breaker;
  }

  function mayBegin(
    deployment: Deployment,
    { caller, isRepeat, isStranded }: Asker,
  ): boolean {
    if (isRepeat) return true;
    if (restMs(deployment, caller) > 0) return false;
    return isStranded ||
      [deployment.connection, deployment.model].every((subject) =>
        breakers.get(subject)?.isProbing(caller.name) !== true
      );
  }

  function restMs({ connection, model }: Deployment, { name }: Caller): number {
    return Math.max(
      breakers.get(connection)?.restMs(name) ?? 0,
      breakers.get(model)?.restMs(name) ?? 0,
    );
  }

  function logCooling(
    { connection, model }: Deployment,
    { ms, isForAll }: Cooling,
    { failure, caller }: {
      readonly failure: AttemptFailure;
      readonly caller: Caller;
    },
  ): void {
    if (ms === 0) return;
    metrics?.cooledDown(connection.name);
    log.write("warn", "cooling_down", {
      connection: connection.name,
      model: SUBJECT_BY_KIND[failure.kind] === "model" ? model.id : undefined,
      caller: isForAll ? undefined : caller.name,
      reason: LOG_WORD_BY_KIND[failure.kind],
      ms,
    });
  }

  return {
    restMs,
    begin(deployment, asker) {
      if (!mayBegin(deployment, asker)) return undefined;
      const { caller, isRepeat } = asker;
      return createAttemptReport({
        connection: breakerOf(deployment.connection),
        model: breakerOf(deployment.model),
        token: caller.name,
        isRepeat,
        onCooling: (cooling, failure) =>
          logCooling(deployment, cooling, { failure, caller }),
      });
    },
  };
}

/** Who takes in what an attempt shows. */
interface AttemptReportOptions {
  readonly connection: BreakerByToken;
  readonly model: BreakerByToken;
  /** The name of the token that asks. */
  readonly token: string;
  readonly isRepeat: boolean;
  readonly onCooling: (cooling: Cooling, failure: AttemptFailure) => void;
}

function createAttemptReport(
  { connection, model, token, isRepeat, onCooling }: AttemptReportOptions,
): AttemptReport {
  const connectionAttempt = connection.admit(token, isRepeat);
  const modelAttempt = model.admit(token, isRepeat);
  let isOver = false;

  /** Runs what the attempt showed, if it is the first to be told. */
  function end(show: () => void): void {
    if (isOver) return;
    isOver = true;
    show();
  }

  function dismiss(): void {
    connection.dismissed(connectionAttempt);
    model.dismissed(modelAttempt);
  }

  function blameConnection(failure: AttemptFailure): void {
    model.dismissed(modelAttempt);
    const cooling = isNobodysDoing(failure)
      ? connection.failedForAll(connectionAttempt)
      : connection.failed(connectionAttempt);
    onCooling(cooling, failure);
  }

  function blame(failure: AttemptFailure): void {
    const { kind, status, retryAfterMs } = failure;
    const subject = SUBJECT_BY_KIND[kind];
    if (subject === "connection") return blameConnection(failure);
    if (subject === "nobody") return dismiss();
    settleConnection(connection, connectionAttempt, kind);
    if (subject === "request") return model.succeeded(modelAttempt);
    const isLimit = kind === "rate_limited" || kind === "quota";
    if (isLimit && status !== 402 && retryAfterMs !== undefined) {
      return model.bench(modelAttempt, retryAfterMs);
    }
    onCooling(model.failed(modelAttempt), failure);
  }

  return {
    isProbe: [connectionAttempt, modelAttempt].some(({ forAll, own }) =>
      forAll.isProbe || own.isProbe
    ),
    answered() {
      connection.answered(connectionAttempt);
      model.answered(modelAttempt);
    },
    succeeded: () =>
      end(() => {
        connection.succeeded(connectionAttempt);
        model.succeeded(modelAttempt);
      }),
    failed: (failure) => end(() => blame(failure)),
    dismissed: () => end(dismiss),
  };
}

/** Nothing has been asked yet where there is no connection. */
function isNobodysDoing({ kind, wasConnected }: AttemptFailure): boolean {
  return kind === "unreachable" && wasConnected !== true;
}

const UNCLEAR: ReadonlySet<AttemptFailureKind> = new Set([
  "silent",
  "broken",
  "permission",
  "forbidden",
]);

/** Whoever answers is reachable and takes the credential; silence shows neither, and a 403 not the latter. */
function settleConnection(
  connection: BreakerByToken,
  attempt: TokenAttempt,
  kind: AttemptFailureKind,
): void {
  if (UNCLEAR.has(kind)) connection.dismissed(attempt);
  else connection.succeeded(attempt);
}
