import type { ConfigStore } from "../../config/store.ts";
import { systemClock } from "../../core/time/clock.ts";
import { randomIds } from "../../core/ids.ts";
import { systemTimers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import type { StoreState } from "../../shared/store/store_state.ts";

/**
 * Begins to connect to the store that replicas share; a start does not wait for it. All that is for it is loaded here,
 * so that who has none does not pay for it.
 *
 * @returns `undefined` where the configuration has no store.
 */
export async function connectStore(
  store: ConfigStore,
  log: Log,
): Promise<StoreState | undefined> {
  const { shared } = store.current();
  if (shared === undefined) return undefined;
  const { loadRedis } = await import("./redis.ts");
  const { createStoreState } = await import(
    "../../shared/store/store_state.ts"
  );
  return createStoreState({
    open: await loadRedis(shared),
    prefix: shared.prefix,
    config: store.current,
    clock: systemClock,
    timers: systemTimers,
    log,
    ids: randomIds,
  });
}
