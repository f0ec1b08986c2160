import type { Random } from "../support/fakes/random.ts";
import type { Findings } from "./findings.ts";
import type { Scene } from "./scene.ts";

/** What each part of the soak works with. */
export interface SoakOptions {
  readonly findings: Findings;
  readonly random: Random;
  /** The share of the full counts and times that a part takes on, above 0 and at most 1. */
  readonly effort: number;
  /** How long mixed traffic runs, in seconds. */
  readonly trafficSeconds: number;
}

/** The same for a part that works with the usual gateway and upstream. */
export interface SceneOptions extends SoakOptions {
  readonly scene: Scene;
}
