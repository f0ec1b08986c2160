import type { StoreCondition } from "../core/store_condition.ts";
import type { Poller } from "../quotas/poller.ts";
import type { SharedReadings } from "../quotas/reading.ts";
import type { MemoryOfOthers } from "../relay/request/body_memory.ts";
import type { RunningCounts } from "../relay/request/admission.ts";
import type { Sums } from "../usage/sums.ts";
import type { Notices } from "./notice.ts";

/** What a gateway has in common with the others of its process, and with replicas of it elsewhere. */
export interface SharedState {
  /** Absent where its own limits hold for itself alone. */
  readonly running?: RunningCounts | undefined;
  /** Absent where nobody else takes of the memory for bodies. */
  readonly memory?: MemoryOfOthers | undefined;
  /** Tells others what this one learns, and the other way round. */
  readonly notices?: Notices | undefined;
  /** Reads quotas for several; absent where this gateway reads them itself. */
  readonly poller?: Poller | undefined;
  /** Where replicas leave quotas for each other that they have read. */
  readonly sharedReadings?: SharedReadings | undefined;
  /** Whether replicas' store is there; absent where there is none. */
  readonly store?: (() => StoreCondition) | undefined;
  /** Sums up what tokens use; absent where this gateway alone counts. */
  readonly sums?: Sums | undefined;
}
