import type { AttemptFailure, AttemptFailureKind } from "../attempt_failure.ts";
import type {
  BreakerByToken,
  Cooling,
  TokenAttempt,
} from "./breaker_by_token.ts";

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
export interface AttemptReportOptions {
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
  readonly isBench: boolean;
}

/** Begins to take in what an attempt shows. */
export function createAttemptReport(
  options: AttemptReportOptions,
): AttemptReport {
  const { connection, model, token, isRepeat } = options;
  const connectionAttempt = connection.admit(token, isRepeat);
  const modelAttempt = model.admit(token, isRepeat);
  let isOver = false;

  /** Runs what the attempt showed, if it is the first to be told. */
  function end(show: () => void): void {
    if (isOver) return;
    isOver = true;
    show();
  }

  function report(
    cooling: Cooling,
    why: Pick<AttemptCooling, "failure" | "isBench">,
  ): void {
    if (cooling.ms > 0) options.onCooling({ ...cooling, ...why });
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
    report(cooling, { failure, isBench: false });
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
      const cooling = model.bench(modelAttempt, retryAfterMs);
      return report(cooling, { failure, isBench: true });
    }
    report(model.failed(modelAttempt), { failure, isBench: false });
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
