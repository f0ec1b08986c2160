import { loadRedis } from "../../../src/gateway/process/redis.ts";
import type {
  Config,
  SharedConfig,
} from "../../../src/gateway/config/config.ts";
import {
  type Clock,
  systemClock,
  systemTimers,
} from "../../../src/base/time/timers.ts";
import { randomIds } from "../../../src/base/ids.ts";
import type { Notice } from "../../../src/gateway/shared/notice.ts";
import {
  createStoreState,
  type StoreState,
} from "../../../src/gateway/shared/store/store_state.ts";
import type { Sums } from "../../../src/gateway/usage/sums.ts";
import { createMemoryLog, type MemoryLog } from "../fakes/memory_log.ts";
import { until } from "../within.ts";
import { minimalConfig } from "./config.ts";

/** The state that one process shares with others through a store. */
export interface StoreProcess extends AsyncDisposable {
  readonly state: StoreState["state"];
  readonly sums: Sums;
  readonly log: MemoryLog;
  /** The notices from other processes. */
  readonly heard: readonly Notice[];
  /** Waits until the store is connected or away. */
  until(condition: "connected" | "away"): Promise<void>;
  close(): Promise<void>;
}

/** The options of a {@linkcode StoreProcess}. */
export interface StoreProcessOptions extends Partial<SharedConfig> {
  readonly port: number;
  readonly config?: Config;
  readonly clock?: Clock;
  /** The timeout of the store, in milliseconds; default: long enough for any machine. */
  readonly waitMs?: number;
}

const LONG_WAIT_MS = 60_000;

/** Connects a process to the store on a port of this machine. */
export async function connectProcess(
  { config, clock = systemClock, waitMs = LONG_WAIT_MS, ...shared }:
    StoreProcessOptions,
): Promise<StoreProcess> {
  const log = createMemoryLog();
  const used = config ?? await minimalConfig();
  const { state, close } = createStoreState({
    open: await loadRedis({
      host: "127.0.0.1",
      tls: false,
      ca: undefined,
      username: undefined,
      password: undefined,
      database: 0,
      prefix: PREFIX,
      ...shared,
    }),
    prefix: shared.prefix ?? PREFIX,
    config: () => used,
    clock,
    timers: systemTimers,
    log,
    ids: randomIds,
    waitMs,
  });
  const heard: Notice[] = [];
  state.notices?.onNotice((notice) => {
    if (notice.kind !== "store") heard.push(notice);
  });
  let isClosed = false;
  const closeOnce = async () => {
    if (isClosed) return;
    isClosed = true;
    await close();
  };
  if (state.sums === undefined) throw new Error("There are no sums");
  return {
    state,
    sums: state.sums,
    log,
    heard,
    until: (condition) =>
      until(
        () => state.store?.() === condition,
        `the store to be ${condition}`,
      ),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

const PREFIX = "test:";
