import { loadRedis } from "../../../src/cli/server/redis.ts";
import type { Config, SharedConfig } from "../../../src/config/config.ts";
import {
  type Clock,
  systemClock,
  systemTimers,
} from "../../../src/core/time/timers.ts";
import { randomIds } from "../../../src/core/ids.ts";
import type { Notice } from "../../../src/shared/notice.ts";
import {
  createStoreState,
  type StoreState,
} from "../../../src/shared/store/store_state.ts";
import type { Sums } from "../../../src/usage/sums.ts";
import { createMemoryLog, type MemoryLog } from "../fakes/memory_log.ts";
import { until } from "../within.ts";
import { minimalConfig } from "./config.ts";

/** What one process has in common with others by way of a store. */
export interface StoreProcess extends AsyncDisposable {
  readonly state: StoreState["state"];
  readonly sums: Sums;
  readonly log: MemoryLog;
  /** What it heard of others. */
  readonly heard: readonly Notice[];
  /** Waits until the store is there, or away. */
  until(condition: "connected" | "away"): Promise<void>;
  close(): Promise<void>;
}

/** How a {@linkcode StoreProcess} is made. */
export interface StoreProcessOptions extends Partial<SharedConfig> {
  readonly port: number;
  readonly config?: Config;
  readonly clock?: Clock;
  /** How long it waits for the store, in milliseconds; default: long enough for any machine. */
  readonly waitMs?: number;
}

const PATIENT_MS = 5000;

/** Connects a process with the store at a port of this machine. */
export async function connectProcess(
  { config, clock = systemClock, waitMs = PATIENT_MS, ...shared }:
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
