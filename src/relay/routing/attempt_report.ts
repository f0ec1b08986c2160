import type { Connection } from "../../config/config.ts";
import { saneWaitMs } from "../../core/retry_after.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { Harvest } from "../../quotas/harvest.ts";
import { isExhausted } from "../../quotas/window.ts";
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

/** Whether a failure speaks of one model of its connection alone. */
export function isOfModel({ kind }: AttemptFailure): boolean {
  return SUBJECT_BY_KIND[kind] === "model";
}

/**
 * What a failure speaks of. What was answered, or not, may be due to one model alone: a bad model must not
 * take the connection's other models with it. `request` is due to what the caller asks for and shows
 * that both are well; of `nobody` there is nothing to learn.
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
} as const satisfies Record<AttemptFailureKind, string>;

/** Who takes in what an attempt shows. */
interface AttemptReportOptions {
  readonly connection: BreakerByToken;
  readonly model: BreakerByToken;
  /** The name of the token that asks. */
  readonly token: string;
  readonly isRepeat: boolean;
  /** Told when requests are kept away from now on. */
  readonly onCooling: (cooling: AttemptCooling) => void;
}

/** From whom an attempt that failed keeps requests away, and why. */
export interface AttemptCooling extends Cooling {
  readonly failure: AttemptFailure;
  /** Whether the upstream asked for it. */
  readonly requestedByProvider: boolean;
}

/**
 * Takes in what an attempt shows of its deployment. Told at most one of `succeeded`, `failed` and `dismissed`; later
 * ones do not count.
 */
export class AttemptReport {
  readonly #options: AttemptReportOptions;
  readonly #connectionAttempt: TokenAttempt;
  readonly #modelAttempt: TokenAttempt;
  #isOver = false;

  /** Begins the attempt; it must be allowed now. */
  constructor(options: AttemptReportOptions) {
    const { connection, model, token, isRepeat } = options;
    this.#options = options;
    this.#connectionAttempt = connection.admit(token, isRepeat);
    this.#modelAttempt = model.admit(token, isRepeat);
  }

  /** Whether it is to show that the deployment is well again; nothing else is asked of it meanwhile. */
  get isProbe(): boolean {
    return isProbe(this.#connectionAttempt) || isProbe(this.#modelAttempt);
  }

  /** An answer has begun. */
  answered(): void {
    this.#options.connection.answered(this.#connectionAttempt);
    this.#options.model.answered(this.#modelAttempt);
  }

  /** An answer came to its end. */
  succeeded(): void {
    if (!this.#end()) return;
    this.#options.connection.succeeded(this.#connectionAttempt);
    this.#options.model.succeeded(this.#modelAttempt);
  }

  failed(failure: AttemptFailure): void {
    if (this.#end()) this.#blame(failure);
  }

  /** The attempt says nothing of the deployment, as when the caller left. */
  dismissed(): void {
    if (this.#end()) this.#dismiss();
  }

  /** Whether nothing was told before. */
  #end(): boolean {
    const isFirst = !this.#isOver;
    this.#isOver = true;
    return isFirst;
  }

  #blame(failure: AttemptFailure): void {
    const { connection, model } = this.#options;
    const { kind, status, retryAfterMs } = failure;
    const subject = SUBJECT_BY_KIND[kind];
    if (subject === "connection") return this.#blameConnection(failure);
    if (subject === "nobody") return this.#dismiss();
    settleConnection(connection, this.#connectionAttempt, kind);
    if (subject === "request") return model.succeeded(this.#modelAttempt);
    if (isLimit(failure) && status !== 402 && retryAfterMs !== undefined) {
      const cooling = model.bench(this.#modelAttempt, retryAfterMs);
      return this.#report(cooling, { failure, requestedByProvider: true });
    }
    const cooling = model.failed(this.#modelAttempt, lastingCause(failure));
    this.#report(cooling, { failure, requestedByProvider: false });
  }

  #blameConnection(failure: AttemptFailure): void {
    const { connection, model } = this.#options;
    model.dismissed(this.#modelAttempt);
    const cause = lastingCause(failure);
    const cooling = isNobodysDoing(failure)
      ? connection.failedForAll(this.#connectionAttempt, cause)
      : connection.failed(this.#connectionAttempt, cause);
    this.#report(cooling, { failure, requestedByProvider: false });
  }

  #dismiss(): void {
    this.#options.connection.dismissed(this.#connectionAttempt);
    this.#options.model.dismissed(this.#modelAttempt);
  }

  #report(
    cooling: Cooling,
    why: Pick<AttemptCooling, "failure" | "requestedByProvider">,
  ): void {
    if (cooling.ms > 0) this.#options.onCooling({ ...cooling, ...why });
  }
}

function isProbe({ forAll, own }: TokenAttempt): boolean {
  return forAll.isProbe || own.isProbe;
}

/** Nothing has been asked yet where there is no connection. */
function isNobodysDoing({ kind, wasConnected }: AttemptFailure): boolean {
  return kind === "untrusted" ||
    kind === "unreachable" && wasConnected !== true;
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

/** What is known of a connection's quota. */
interface QuotaKnowledge {
  readonly harvest: Harvest;
  readonly clock: Clock;
}

/** How old a window may be to belong to the answer in hand, in milliseconds. */
const FRESH_MS = 1000;

/**
 * Tells an exhausted window from a burst that was too fast, where a 429 does not say how long to wait: by the windows in
 * the headers of the same answer.
 */
export function withWindow(
  failure: AttemptFailure,
  connection: Connection,
  { harvest, clock }: QuotaKnowledge,
): AttemptFailure {
  if (!isLimit(failure) || failure.retryAfterMs !== undefined) return failure;
  const reading = harvest.reading(connection);
  const nowMs = clock.now();
  if (reading === undefined || nowMs - reading.checkedAtMs > FRESH_MS) {
    return failure;
  }
  const waitMs = Math.max(
    ...reading.windows.filter(isExhausted).map(({ resets_at }) =>
      saneWaitMs(Date.parse(resets_at ?? "") - nowMs) ?? 0
    ),
  );
  return waitMs > 0
    ? { ...failure, kind: "quota", retryAfterMs: waitMs }
    : failure;
}
