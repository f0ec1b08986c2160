import type { Config } from "../../../../src/gateway/config/config.ts";
import { randomIds } from "../../../../src/base/ids.ts";
import type { Notice } from "../../../../src/gateway/shared/notice.ts";
import type { SharedState } from "../../../../src/gateway/shared/shared_state.ts";
import { createStoreState } from "../../../../src/gateway/shared/store/store_state.ts";
import {
  createCountTable,
  createThreadCounts,
} from "../../../../src/gateway/shared/thread_counts.ts";
import {
  SimulatedStore,
  type StoreLine,
} from "../../../simulation/world/store.ts";
import type { VirtualTime } from "../../../simulation/world/time.ts";
import { Trace } from "../../../simulation/world/trace.ts";
import { createMemoryLog } from "../../../support/fakes/memory_log.ts";
import type { Random } from "../../../support/fakes/random.ts";

/** The parts of a scene that its gateways share. */
interface GroupParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly config: () => Config;
}

/** Several gateways that share state. */
export interface PlanGroup {
  /** The state of each. */
  readonly states: readonly SharedState[];
  /** Takes the store away, or brings it back. */
  setStore?(isUp: boolean): void;
}

/** Opens gateways that share state. */
export type OpenGroup = (parts: GroupParts) => PlanGroup;

/** The time of a message from a thread to another, in milliseconds. */
const MESSAGE_MS = 1;

/** Opens threads of one process, which count in shared memory and send each other notices. */
export function threadsOf(count: number): OpenGroup {
  return ({ time }) => {
    const table = createCountTable(count, 1_000);
    const listeners: ((notice: Notice) => void)[][] = [];
    const states = Array.from({ length: count }, (_, thread): SharedState => {
      listeners.push([]);
      return {
        ...createThreadCounts({ table, thread }),
        notices: {
          publish(notice) {
            const copy = structuredClone(notice);
            time.schedule(MESSAGE_MS, () => {
              for (const [other, those] of listeners.entries()) {
                if (other === thread) continue;
                for (const listener of those) listener(copy);
              }
            });
          },
          onNotice: (listener) => void listeners[thread]?.push(listener),
        },
      };
    });
    return { states };
  };
}

/** Opens replicas with a store. */
export function replicasOf(count: number): OpenGroup {
  return ({ time, random, config }) => {
    const store = new SimulatedStore({
      ...{ time, random },
      trace: new Trace(time.elapsedMs),
    });
    const lines: StoreLine[] = [];
    const states = Array.from({ length: count }, () => {
      const { state } = createStoreState({
        open(events) {
          const line = store.connect(events);
          lines.push(line);
          return line;
        },
        ...{ prefix: "mg:", config, clock: time, timers: time },
        ...{ log: createMemoryLog(), ids: randomIds },
      });
      return state;
    });
    return {
      states,
      setStore(isUp) {
        store.isUp = isUp;
        if (!isUp) { for (const line of lines) line.cut(); }
      },
    };
  };
}
