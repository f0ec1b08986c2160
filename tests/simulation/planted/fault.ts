/** A fault that is planted into a copy of the program, to see whether the simulation finds it. */
export interface Fault {
  /** What is wrong, in a few words; unique. */
  readonly name: string;
  /** A text that the file has once. */
  readonly text: string;
  /** What stands there instead. */
  readonly wrong: string;
  /** Why no caller, provider or operator could see it, when that is so. */
  readonly unseen?: string;
}

/** The faults of each file, by its path in `src`. */
export type FaultsByFile = Readonly<Record<string, readonly Fault[]>>;
