import type { Random } from "../support/fakes/random.ts";
import type { Findings } from "./findings.ts";
import type { Scene } from "./scene.ts";

/** The options of each part of the soak. */
export interface SoakOptions {
  readonly findings: Findings;
  readonly random: Random;
  /** The share of the full counts and times, above 0 and at most 1. */
  readonly effort: number;
  /** The duration of mixed traffic, in seconds. */
  readonly trafficSeconds: number;
}

/** The options of a part with the usual gateway and upstream. */
export interface SceneOptions extends SoakOptions {
  readonly scene: Scene;
}
