import type { StoreCondition } from "@gateway/base/store_condition";
import type { SharedReadings } from "../quotas/reading.ts";
import type { KeySets } from "../relay/identity/key_sets.ts";
import type { MemoryOfOthers } from "../relay/request/body_memory.ts";
import type { RunningCounts } from "../relay/request/admission.ts";
import type { Sums } from "../usage/sums.ts";
import type { Notices } from "./notice.ts";

/** The state that a gateway shares with other threads of its process and with replicas. */
export interface SharedState {
  /** The running requests of all threads; absent if this gateway counts only its own requests. */
  readonly running?: RunningCounts | undefined;
  /** The memory for bodies that other threads use; absent without other threads. */
  readonly memory?: MemoryOfOthers | undefined;
  /** The notices between this gateway and the others. */
  readonly notices?: Notices | undefined;
  /** The keys of identity providers, read for all threads; absent if this gateway reads the keys itself. */
  readonly keySets?: KeySets | undefined;
  /** The quotas that the main thread or other replicas have read; absent if this gateway is alone. */
  readonly sharedReadings?: SharedReadings | undefined;
  /** Returns the state of the connection to the replicas' store; absent without a store. */
  readonly store?: (() => StoreCondition) | undefined;
  /**
   * Asks the process for another key after the exchanged key of a connection was refused. Absent if there is no process
   * to ask.
   */
  readonly onKeyRefused?: ((connectionId: string) => void) | undefined;
  /** The sums of the tokens' usage; absent if this gateway counts alone. */
  readonly sums?: Sums | undefined;
}
