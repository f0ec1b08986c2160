import type { Random } from "../support/fakes/random.ts";
import type { Findings } from "./findings.ts";
import type { Scene } from "./scene.ts";

/** What each part of the soak works with. */
export interface SoakOptions {
  readonly scene: Scene;
  readonly findings: Findings;
  readonly random: Random;
  /** How long mixed traffic runs. */
  readonly minutes: number;
}
