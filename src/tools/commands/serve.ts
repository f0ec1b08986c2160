import { createReload } from "../../gateway/config/reload.ts";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../gateway/config/live_config.ts";
import { randomIds } from "@gateway/base/ids";
import {
  lastingTimers,
  systemClock,
  systemTimers,
} from "@gateway/base/time/timers";
import type { Log } from "../../gateway/observe/log.ts";
import type { StoreState } from "../../gateway/shared/store/store_state.ts";
import type { Sums } from "../../gateway/usage/sums.ts";
import { command, type Run } from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { openLog, outputFormat } from "../../gateway/process/log/open_log.ts";
import { checkDescriptors } from "../../gateway/process/descriptors.ts";
import { openNetworkClient } from "../../http1/deno/network_client.ts";
import {
  openTokenBook,
  tokenExchangesIn,
} from "../../gateway/process/token_book.ts";
import { runServer } from "../../gateway/process/run_server.ts";
import {
  type ServingOptions,
  startServing,
} from "../../gateway/process/serving.ts";
import { onHangup } from "../../gateway/process/signals.ts";
import { startReplay } from "../usage/replay_logs.ts";
import {
  createReloadLog,
  createWatchedConfig,
} from "../../gateway/process/watch/watched_config.ts";
import {
  startThread,
  workerCount,
} from "../../gateway/process/threads/thread.ts";
import { startPool } from "../../gateway/process/threads/pool.ts";
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

/** The arguments and the help of `serve`, the default command. */
export const SERVE: CommandSpec = {
  name: "serve",
  summary: "serve requests with gateway.yaml; the default command",
  options: [CONFIG_OPTION, ...LISTENER_OPTIONS],
  details: [
    "The program prints `listening on …` to standard error when it is ready. It reloads the\nconfiguration on SIGHUP, and when the file or a file named in it changes. SIGTERM and\nSIGINT drain; a second signal stops at once.",
  ],
};

/**
 * `serve`: serves requests as the configuration says, and applies its changes while running.
 *
 * @returns The exit code.
 */
export const runServe: Run<CliIo> = command(SERVE, async (read, io) => {
  const options = readServeOptions(read);
  const path = findConfigPath({ option: options.config, env: io.env });
  const format = outputFormat(options.log, Deno.stdout.isTerminal(), io.env);
  const { log, writer } = openLog(Deno.stdout, format, io.writeError);
  const network = openNetworkClient(io.env, lastingTimers);
  let reloadTokens = () => {};
  const book = openTokenBook({
    ...{ path, log, client: network.client },
    onChange: () => reloadTokens(),
  });
  const watched = createWatchedConfig(
    path,
    io.env,
    lastingTimers,
    book.tokenFor,
  );
  const first = await watched.load();
  if ("problems" in first) {
    io.writeError(`Cannot start: ${path} has problems.\n`);
    io.writeError(problemLines(first.problems) + missingFileHint(first));
    network[Symbol.dispose]();
    return EXIT.badUsage;
  }
  io.writeError(problemLines(startWarnings(first, options)));
  const liveConfig = createLiveConfig(first.config);
  const reloadLog = createReloadLog(log, watched.changedFiles);
  const reload = createReload({
    liveConfig,
    load: watched.load,
    report: reloadLog.report,
  });
  onHangup(() => {
    reloadLog.expect();
    reload({ isForced: true });
  });
  watched.watch(() => void reload());
  // A renewed token is a new key of its connection.
  reloadTokens = () => void reload();
  liveConfig.onSwap((config) => book.retain(tokenExchangesIn(config)));
  const server = withOptions(first.config.server, options);
  const workers = workerCount(server.workers, log);
  checkDescriptors(server, workers, log);
  const replay = await replayUsage({ liveConfig, path, log });
  const start = (serving: ServingOptions) =>
    workers === 1 ? startServing(serving) : startPool({
      ...serving,
      workers,
      format,
      write: writer.write,
      startThread,
      timers: systemTimers,
    });
  const storeState = await connectStore(liveConfig, log);
  const code = await runServer({
    liveConfig,
    server,
    shared: {
      ...(storeState?.state ?? (replay && { sums: replay })),
      onKeyRefused(id) {
        const { connections } = liveConfig.current();
        const refused = connections.filter((one) => one.id === id);
        tokenExchangesIn({ connections: refused }).forEach(book.renew);
      },
    },
    fetch: network.fetch,
    client: network.client,
    abandonedHandshakes: network.abandonedHandshakes,
    log,
    io,
    start,
  });
  await storeState?.close();
  await watched.stop();
  await writer.flush();
  return code;
});

/** Counts the earlier usage from the logs that the configuration names. */
async function replayUsage(
  { liveConfig, path, log }: {
    readonly liveConfig: LiveConfig;
    /** The path of the configuration file. */
    readonly path: string;
    readonly log: Log;
  },
): Promise<Sums | undefined> {
  const patterns = liveConfig.current().usage.replay
    .map((pattern) => beside(path, pattern));
  if (patterns.length === 0) return undefined;
  if (liveConfig.current().shared !== undefined) {
    log.write("usage_not_replayed", {
      reason: "the store keeps the counts",
    });
    return undefined;
  }
  return await startReplay({ liveConfig, patterns, log });
}

/**
 * Begins to connect to the store that replicas share; the start does not wait for the connection. The client is loaded
 * here, so that a gateway without a store does not load it.
 *
 * @returns The state in the store; `undefined` when the configuration has no store.
 */
async function connectStore(
  liveConfig: LiveConfig,
  log: Log,
): Promise<StoreState | undefined> {
  const { shared } = liveConfig.current();
  if (shared === undefined) return undefined;
  const { loadRedis } = await import("../../gateway/process/redis.ts");
  const { createStoreState } = await import(
    "../../gateway/shared/store/store_state.ts"
  );
  return createStoreState({
    open: await loadRedis(shared, systemTimers, liveConfig),
    prefix: shared.prefix,
    config: liveConfig.current,
    clock: systemClock,
    timers: systemTimers,
    log,
    ids: randomIds,
  });
}
