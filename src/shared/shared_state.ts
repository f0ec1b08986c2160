import type { MemoryOfOthers } from "../relay/request/body_memory.ts";
import type { RunningCounts } from "../relay/request/running_counts.ts";

/** What a gateway has in common with the others of its process, and with replicas of it elsewhere. */
export interface SharedState {
  /** Absent where its own limits hold for itself alone. */
  readonly running?: RunningCounts;
  /** Absent where nobody else takes of the memory for bodies. */
  readonly memory?: MemoryOfOthers;
}
