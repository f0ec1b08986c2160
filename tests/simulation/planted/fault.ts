/** A fault that is planted into a copy of the program, to test whether the simulation finds it. */
export interface Fault {
  /** What is wrong, in a few words; unique. */
  readonly name: string;
  /** A text that the file has once. */
  readonly text: string;
  /** The text that replaces it. */
  readonly wrong: string;
  /** The reason why no caller, provider or administrator can see the fault; absent for the others. */
  readonly unseen?: string;
}

/** The faults of each file, by its path in `src`. */
export type FaultsByFile = Readonly<Record<string, readonly Fault[]>>;
