import { createReload } from "../../config/reload.ts";
import { type ConfigStore, createConfigStore } from "../../config/store.ts";
import { randomIds } from "../../core/ids.ts";
import { systemClock, systemTimers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import type { StoreState } from "../../shared/store/store_state.ts";
import type { Sums } from "../../usage/sums.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { openLog } from "../log/open_log.ts";
import { openNetworkClient } from "../server/network_client.ts";
import { runServer } from "../server/run_server.ts";
import { type ServingOptions, startServing } from "../server/serving.ts";
import { onHangup } from "../server/signals.ts";
import { startReplay } from "../usage/replay_logs.ts";
import {
  createReloadLog,
  createWatchedConfig,
} from "../watch/watched_config.ts";
import { startThread, workerCount } from "../workers/thread.ts";
import { startPool } from "../workers/pool.ts";
import {
  beside,
  findConfigPath,
  missingFileHint,
  problemLines,
} from "./config_file.ts";
import {
  CONFIG_OPTION,
  LISTENER_OPTIONS,
  readServeOptions,
  startWarnings,
  withOptions,
} from "./serve_options.ts";

/** `serve`, which is also what the program does without a command. */
export const SERVE: CommandSpec = {
  name: "serve",
  summary: "serve what gateway.yaml says; this is the default",
  options: [CONFIG_OPTION, ...LISTENER_OPTIONS],
  details: [
    "The line `listening on …` on standard error says that it is ready. The file\nand all that it names are watched, and SIGHUP reads them again. SIGTERM and SIGINT\ndrain, a second one stops at once.",
  ],
};

/**
 * `serve`: serves what the configuration says, and takes over its changes while it runs.
 *
 * @returns The exit code.
 */
export async function runServe(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const options = readServeOptions(args);
  if ("fault" in options) {
    return badUsage(options.fault, SERVE, io);
  }
  const path = findConfigPath({ option: options.config, env: io.env });
  const watched = createWatchedConfig(path, io.env);
  const first = await watched.load();
  if ("problems" in first) {
    io.writeError(`Cannot start: ${path} has problems\n`);
    io.writeError(problemLines(first.problems) + missingFileHint(first));
    return EXIT.badUsage;
  }
  io.writeError(problemLines(startWarnings(first, options)));
  const { log, writer } = openLog(Deno.stdout, options.log);
  const store = createConfigStore(first.config);
  const reloadLog = createReloadLog(log);
  const reload = createReload({
    store,
    load: watched.load,
    report: reloadLog.report,
  });
  onHangup(() => {
    reloadLog.expect();
    reload();
  });
  watched.watch(reload);
  const server = withOptions(first.config.server, options);
  const workers = workerCount(server.workers, log);
  const replay = await replayUsage({ store, path, log });
  const start = (serving: ServingOptions) =>
    workers === 1 ? startServing(serving) : startPool({
      ...serving,
      workers,
      format: options.log,
      write: writer.write,
      startThread,
      timers: systemTimers,
    });
  const storeState = await connectStore(store, log);
  const network = openNetworkClient(io.env);
  const code = await runServer({
    store,
    server,
    shared: storeState?.state ?? (replay && { sums: replay }),
    fetch: network.fetch,
    client: network.client,
    log,
    io,
    start,
  });
  await storeState?.close();
  await watched.stop();
  await writer.flush();
  return code;
}

/** Counts what the logs that the configuration names say was used before. */
async function replayUsage(
  { store, path, log }: {
    readonly store: ConfigStore;
    /** Of the configuration file. */
    readonly path: string;
    readonly log: Log;
  },
): Promise<Sums | undefined> {
  const patterns = store.current().usage.replay
    .map((pattern) => beside(path, pattern));
  if (patterns.length === 0) return undefined;
  if (store.current().shared !== undefined) {
    log.write("usage_not_replayed", {
      reason: "a store has the counts",
    });
    return undefined;
  }
  return await startReplay({ store, patterns, log });
}

/**
 * Begins to connect to the store that replicas share; a start does not wait for it. All that is for it is loaded here,
 * so that who has none does not pay for it.
 *
 * @returns `undefined` where the configuration has no store.
 */
async function connectStore(
  store: ConfigStore,
  log: Log,
): Promise<StoreState | undefined> {
  const { shared } = store.current();
  if (shared === undefined) return undefined;
  const { loadRedis } = await import("../server/redis.ts");
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
