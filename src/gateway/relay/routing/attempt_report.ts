import type { Connection } from "../../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { Harvest } from "../../quotas/harvest.ts";
import type { QuotaService } from "../../quotas/service.ts";
import {
  exhaustedMs,
  isExhausted,
  limitsEveryModel,
  longestRestMs,
} from "../../quotas/window.ts";
import {
  type AttemptFailure,
  type AttemptFailureKind,
  isLimit,
  lastingCause,
} from "../attempt_failure.ts";
import type {
  BreakerByToken,
  Cooling,
  TokenAttempt,
} from "./breaker_by_token.ts";
import type { LimitProbe } from "./cool_down.ts";

/** Returns true when a failure concerns one model of its connection alone. */
export function isOfModel({ kind }: AttemptFailure): boolean {
  return SUBJECT_BY_KIND[kind] === "model";
}

/**
 * The subject of each failure. A failure of one model must not block the connection's other models. A failure of the
 * `request` shows that connection and model are well. A failure of `nobody` shows nothing.
 */
const SUBJECT_BY_KIND = {
  unreachable: "connection",
  untrusted: "connection",
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
  unauthenticated: "nobody",
  gateway_shortage: "nobody",
} as const satisfies Record<AttemptFailureKind, string>;

interface AttemptReportOptions {
  readonly connection: BreakerByToken;
  readonly model: BreakerByToken;
  /** The digest of the caller's name. */
  readonly token: string;
  readonly isRepeat: boolean;
  /** Called when a cool-down begins. */
  readonly onCooling: (cooling: AttemptCooling) => void;
  /** Called when the attempt probes the wait that a provider asked for, and when the provider has answered. */
  readonly onLimitProbe: (probe: LimitProbe, isForAll: boolean) => void;
  /** Called when the gateway's own machine is short of a resource. */
  readonly onShortage: () => void;
}

/** A cool-down that a failed attempt started, and its cause. */
export interface AttemptCooling extends Cooling {
  readonly failure: AttemptFailure;
  /** The wait that the upstream asked for, in milliseconds; `undefined` when the upstream asked for no wait. */
  readonly requestedMs: number | undefined;
}

/**
 * Reports the result of an attempt to the breakers of its deployment. Only the first call of `succeeded`, `failed` or
 * `dismissed` counts.
 */
export class AttemptReport {
  readonly #options: AttemptReportOptions;
  readonly #connectionAttempt: TokenAttempt;
  readonly #modelAttempt: TokenAttempt;
  #isOver = false;

  /** Begins the attempt. The breakers must allow the attempt now. */
  constructor(options: AttemptReportOptions) {
    const { connection, model, token, isRepeat } = options;
    this.#options = options;
    this.#connectionAttempt = connection.admit(token, isRepeat);
    this.#modelAttempt = model.admit(token, isRepeat);
    this.#reportProbe("begun");
  }

  /** True when the attempt tests the recovery of the deployment. No other request goes to the deployment meanwhile. */
  get isProbe(): boolean {
    return isProbe(this.#connectionAttempt) || isProbe(this.#modelAttempt);
  }

  /** Records the beginning of a response. */
  answered(): void {
    this.#options.connection.answered(this.#connectionAttempt);
    this.#options.model.answered(this.#modelAttempt);
    this.#reportProbe("answered");
  }

  /** Records the end of a complete answer. */
  succeeded(): void {
    if (!this.#end()) return;
    this.#options.connection.succeeded(this.#connectionAttempt);
    this.#options.model.succeeded(this.#modelAttempt);
  }

  failed(failure: AttemptFailure): void {
    if (this.#end()) this.#blame(failure);
  }

  /** Ends an attempt that shows nothing about the deployment, as when the caller disconnected. */
  dismissed(): void {
    if (this.#end()) this.#dismiss();
  }

  /** Returns true on the first call. */
  #end(): boolean {
    const isFirst = !this.#isOver;
    this.#isOver = true;
    return isFirst;
  }

  #blame(failure: AttemptFailure): void {
    const { connection, model } = this.#options;
    const { kind, status, retryAfterMs } = failure;
    if (kind === "gateway_shortage") this.#options.onShortage();
    const subject = failure.wasLost ? "nobody" : SUBJECT_BY_KIND[kind];
    if (subject === "connection") return this.#blameConnection(failure);
    if (subject === "nobody") return this.#dismiss();
    settleConnection(connection, this.#connectionAttempt, kind);
    if (subject === "request") {
      model.succeeded(this.#modelAttempt);
      return this.#reportProbe("answered");
    }
    if (isLimit(failure) && status !== 402 && retryAfterMs !== undefined) {
      const cooling = model.coolFor(this.#modelAttempt, retryAfterMs);
      return this.#report(cooling, { failure, requestedMs: retryAfterMs });
    }
    const cooling = model.failed(this.#modelAttempt, lastingCause(failure));
    this.#report(cooling, { failure, requestedMs: undefined });
  }

  #blameConnection(failure: AttemptFailure): void {
    const { connection, model } = this.#options;
    model.dismissed(this.#modelAttempt);
    const cause = lastingCause(failure);
    const cooling = isIndependentOfCaller(failure)
      ? connection.failedForAll(this.#connectionAttempt, cause)
      : connection.failed(this.#connectionAttempt, cause);
    this.#report(cooling, { failure, requestedMs: undefined });
  }

  #dismiss(): void {
    this.#options.connection.dismissed(this.#connectionAttempt);
    this.#options.model.dismissed(this.#modelAttempt);
  }

  /**
   * Reports a probe of a provider's wait. The wait that a provider asks for concerns a model, so only the model's
   * breaker can admit such a probe.
   */
  #reportProbe(probe: LimitProbe): void {
    const { forAll, own } = this.#modelAttempt;
    if (!forAll.isLimitProbe && !own.isLimitProbe) return;
    this.#options.onLimitProbe(probe, forAll.isLimitProbe);
  }

  #report(
    cooling: Cooling,
    why: Pick<AttemptCooling, "failure" | "requestedMs">,
  ): void {
    if (cooling.ms > 0) this.#options.onCooling({ ...cooling, ...why });
  }
}

function isProbe({ forAll, own }: TokenAttempt): boolean {
  return forAll.isProbe || own.isProbe || forAll.isLimitProbe ||
    own.isLimitProbe;
}

/** Returns true when no caller can be the cause, because no request was sent. */
function isIndependentOfCaller(
  { kind, wasConnected }: AttemptFailure,
): boolean {
  return kind === "untrusted" ||
    kind === "unreachable" && wasConnected !== true;
}

const UNCLEAR: ReadonlySet<AttemptFailureKind> = new Set([
  "silent",
  "broken",
  "permission",
  "forbidden",
]);

/**
 * Records the result for the connection. A response shows that the provider is reachable and accepts the credential.
 * Silence shows nothing. A 403 shows only that the provider is reachable.
 */
function settleConnection(
  connection: BreakerByToken,
  attempt: TokenAttempt,
  kind: AttemptFailureKind,
): void {
  if (UNCLEAR.has(kind)) connection.dismissed(attempt);
  else connection.succeeded(attempt);
}

/** The state that {@linkcode withWindow} reads. */
interface QuotaKnowledge {
  readonly harvest: Pick<Harvest, "reading">;
  readonly quotas: Pick<QuotaService, "known">;
  readonly clock: Pick<Clock, "now">;
}

/** The maximum age of a window that counts as read from the same response, in milliseconds. */
const FRESH_MS = 1000;

/**
 * Adds the reset of an exhausted window to a failure by a limit, if the failure has no retry time. If the headers of
 * the same response show no exhausted window, there were only too many requests at once. Windows that count all models
 * come before windows of some models. If the response itself names a quota, the windows of `/limits` count, too.
 */
export function withWindow(
  failure: AttemptFailure,
  connection: Connection,
  { harvest, quotas, clock }: QuotaKnowledge,
): AttemptFailure {
  if (!isLimit(failure) || failure.retryAfterMs !== undefined) return failure;
  const reading = harvest.reading(connection);
  const nowMs = clock.now();
  const isFresh = reading !== undefined &&
    nowMs - reading.checkedAtMs <= FRESH_MS;
  const exhausted = isFresh ? reading.windows.filter(isExhausted) : [];
  const shared = exhausted.filter(limitsEveryModel);
  const seenMs = longestRestMs(shared.length > 0 ? shared : exhausted, nowMs);
  const waitMs = seenMs === 0 && failure.kind === "quota"
    ? exhaustedMs(quotas.known(connection), nowMs)
    : seenMs;
  return waitMs ? { ...failure, kind: "quota", retryAfterMs: waitMs } : failure;
}
