import type { SimulatedFamily } from "./simulated.ts";
import { type Fault, FAULTS } from "./faults.ts";

/** Whether a model reasons without being asked to. */
export function isThinkingModel(model: string): boolean {
  return model.includes("think");
}

/**
 * Every model of a family, such as `demo-b`, `demo-b-think` and, one a fault, `demo-b-slow`. Family A leaves
 * its letter out of the names of the faulty ones: `demo-slow`.
 */
export function modelsOf(family: SimulatedFamily): string[] {
  const plain = `demo-${family.toLowerCase()}`;
  const faulty = FAULT_NAMES.map((fault) => faultPrefix(family) + fault);
  return [plain, `${plain}-think`, ...faulty];
}

/** What goes wrong with `model`; `undefined` when nothing does. */
export function faultOf(
  model: string,
  family: SimulatedFamily,
): Fault | undefined {
  const prefix = faultPrefix(family);
  return FAULT_NAMES.find((fault) => model === prefix + fault);
}

function faultPrefix(family: SimulatedFamily): string {
  return family === "A" ? "demo-" : `demo-${family.toLowerCase()}-`;
}

const FAULT_NAMES = Object.keys(FAULTS).filter(isFault);

function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name);
}
