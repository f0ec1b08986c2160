import { wait } from "../core/wait.ts";
import type { Exchange } from "./exchange.ts";
import type { LimitGate } from "./limit_gate.ts";
import type { NextAttempt } from "./next_attempts.ts";
import type { AttemptReport } from "./routing/attempt_report.ts";
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
  asked: Pick<Admittance, "exchange" | "gate">,
  services: RelayServices,
): Promise<AdmittedAttempt | undefined> {
  for (const next of attempts) {
    if (next.again && !await awaitTurn(next, asked.exchange, services)) {
      continue;
    }
    const admitted = await admit(
      next,
      { ...asked, isStranded: false },
      services,
    );
    if (admitted !== undefined) return admitted;
  }
  for (const next of attempts) {
    if (next.again || asked.gate.allowed([next.candidate]).length === 0) {
      continue;
    }
    const admitted = await admit(
      next,
      { ...asked, isStranded: true },
      services,
    );
    if (admitted !== undefined) return admitted;
  }
  return undefined;
}

/** Who wants an attempt admitted. */
interface Admittance {
  readonly exchange: Exchange;
  readonly gate: LimitGate;
  /** Whether there is nothing else. */
  readonly isStranded: boolean;
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

/** Begins an attempt, if health, the connection's places and the token's limits allow it. */
async function admit(
  next: NextAttempt,
  { exchange: { caller }, gate, isStranded }: Admittance,
  { health, budget, admission }: RelayServices,
): Promise<AdmittedAttempt | undefined> {
  const { deployment } = next.candidate;
  const { connection } = deployment;
  const asker = { caller, isRepeat: next.again, isStranded };
  const report = health.begin(deployment, asker);
  if (report === undefined) return undefined;
  const leave = admission.occupy(connection);
  if (leave === undefined) {
    report.dismissed();
    return undefined;
  }
  const entered = gate.enter(next.candidate);
  if (entered instanceof Promise ? !await entered : !entered) {
    leave();
    report.dismissed();
    return undefined;
  }
  if (!next.again) budget.earn(connection.id);
  return { next, report, leave };
}
