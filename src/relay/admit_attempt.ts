import { wait } from "../core/time/wait.ts";
import type { Exchange } from "./exchange.ts";
import type { LimitGate } from "./limit_gate.ts";
import type { NextAttempt } from "./next_attempts.ts";
import type { AttemptReport } from "./routing/attempt_report.ts";
import type { Asker } from "./routing/health.ts";
import type { RelayServices } from "./services.ts";

/** An attempt that was let in. */
export interface AdmittedAttempt {
  readonly next: NextAttempt;
  readonly report: AttemptReport;
  /** Gives the connection's place back. */
  readonly leave: () => void;
}

/**
 * Begins the first attempt that is allowed now. What is being probed, and may be well again, is taken where there is
 * nothing else.
 *
 * @returns `undefined` when none is allowed.
 */
export async function admitFirst(
  attempts: readonly NextAttempt[],
  { exchange, gate }: Admittance,
  services: RelayServices,
): Promise<AdmittedAttempt | undefined> {
  for (const isStranded of [false, true]) {
    for (const next of attempts) {
      const { candidate, isRepeat } = next;
      const mayTry = isStranded
        ? !isRepeat && gate.limitedUntilMs(candidate) === undefined
        : !isRepeat || await awaitTurn(next, exchange, services);
      if (!mayTry) continue;
      const asker = { caller: exchange.caller, isRepeat, isStranded };
      const begun = begin(next, asker, services);
      if (begun === undefined) continue;
      const entered = gate.enter(candidate);
      // What is known at once is not waited for.
      if (entered instanceof Promise ? await entered : entered) {
        if (!isRepeat) services.budget.earn(candidate.deployment.connection.id);
        return begun;
      }
      begun.leave();
      begun.report.dismissed();
    }
  }
  return undefined;
}

/** Who wants an attempt admitted. */
interface Admittance {
  readonly exchange: Exchange;
  readonly gate: LimitGate;
}

/** Waits until a connection may be asked again; `false` when it may not. */
async function awaitTurn(
  { candidate: { deployment }, waitMs }: NextAttempt,
  { control }: Exchange,
  { budget, deadlines }: RelayServices,
): Promise<boolean> {
  if (!budget.spend(deployment.connection.id)) return false;
  await wait(waitMs, { deadlines, signal: control.controller.signal });
  return true;
}

/** Begins an attempt, if health and the connection's places allow it. */
function begin(
  next: NextAttempt,
  asker: Asker,
  { health, admission }: RelayServices,
): AdmittedAttempt | undefined {
  const { deployment } = next.candidate;
  const report = health.begin(deployment, asker);
  if (report === undefined) return undefined;
  const leave = admission.occupy(deployment.connection);
  if (leave !== undefined) return { next, report, leave };
  report.dismissed();
  return undefined;
}
