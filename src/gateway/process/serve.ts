import type { Config, ServerConfig } from "../config/config.ts";
import { createLiveConfig, type LiveConfig } from "../config/live_config.ts";
import { createReload } from "../config/reload.ts";
import { exposureFault } from "../config/resolve/server.ts";
import { randomIds } from "@gateway/base/ids";
import type { Problem } from "@gateway/base/problems";
import {
  lastingTimers,
  systemClock,
  systemTimers,
} from "@gateway/base/time/timers";
import { openNetwork } from "./network.ts";
import type { Log, LogFormat } from "../observe/log.ts";
import type { StoreState } from "../shared/store/store_state.ts";
import type { Fetch } from "../upstream/call.ts";
import type { Sums } from "../usage/sums.ts";
import { beside, missingFileHint, problemLines } from "./config_file.ts";
import { checkDescriptors } from "./descriptors.ts";
import { openLog, outputFormat } from "./log/open_log.ts";
import { runServer } from "./run_server.ts";
import { type ServingOptions, startServing } from "./serving.ts";
import { onHangup } from "./signals.ts";
import { startThread, workerCount } from "./threads/thread.ts";
import { openTokenBook, tokenExchangesIn } from "./token_book.ts";
import {
  createReloadLog,
  createWatchedConfig,
} from "./watch/watched_config.ts";

/** The options on the command line of a program that serves. */
export interface ServeOptions {
  /** The address to listen on; default: the address in the configuration. */
  readonly host?: string;
  /** The port to listen on; default: the port in the configuration. */
  readonly port?: number;
  readonly log: LogFormat;
}

/** The environment of a process, and its messages for people. */
interface ProcessIo {
  readonly env: (name: string) => string | undefined;
  /** Writes to standard error. */
  readonly writeError: (text: string) => void;
}

/** The reason why a program ended: a signal, or a fault before it could serve. */
export type ServeEnding = "stopped" | "invalid_config" | "cannot_listen";

/**
 * Serves requests with a configuration that does not change, until a signal ends the program. Writes the log to
 * standard output.
 */
export async function serveConfig(
  config: Config,
  { fetch, options, io, onReady }: {
    readonly fetch: Fetch;
    readonly options: ServeOptions;
    readonly io: ProcessIo;
    /** Called with the address of the gateway, before the ready line. */
    readonly onReady: (url: string) => void;
  },
): Promise<ServeEnding> {
  const { log, writer } = openOutput(options, io);
  const ending = await runServer({
    liveConfig: createLiveConfig(config),
    server: withOptions(config.server, options),
    ...{ fetch, log, io, onReady },
  });
  await writer.flush();
  return ending;
}

/**
 * Serves requests by a configuration file until a signal ends the program. Applies changes of the file while the
 * program runs. The log goes to standard output.
 */
export async function serveFile(
  path: string,
  { options, io }: {
    readonly options: ServeOptions;
    readonly io: ProcessIo;
  },
): Promise<ServeEnding> {
  const { log, writer, format } = openOutput(options, io);
  const network = openNetwork(io.env, lastingTimers);
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
    return "invalid_config";
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
  // A renewed token is the new key of its connection, and the key is a part of the configuration.
  reloadTokens = () => void reload();
  liveConfig.onSwap((config) => book.retain(tokenExchangesIn(config)));
  const server = withOptions(first.config.server, options);
  const workers = workerCount(server.workers, log);
  checkDescriptors(server, workers, log);
  const replay = await replayUsage({ liveConfig, path, log });
  const start = async (serving: ServingOptions) => {
    if (workers === 1) return await startServing(serving);
    const { startPool } = await import("./threads/pool.ts");
    return await startPool({
      ...serving,
      workers,
      format,
      write: writer.write,
      startThread,
      timers: systemTimers,
    });
  };
  const storeState = await connectStore(liveConfig, log);
  const ending = await runServer({
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
  return ending;
}

/** Opens the log on standard output. */
function openOutput(
  { log: wanted }: ServeOptions,
  { env, writeError }: ProcessIo,
) {
  const format = outputFormat(wanted, Deno.stdout.isTerminal(), env);
  return { ...openLog(Deno.stdout, format, writeError), format };
}

/** Returns the settings of the listener. Options of the command line replace the settings of the file. */
export function withOptions(
  server: ServerConfig,
  { host, port }: ServeOptions,
): ServerConfig {
  return { ...server, host: host ?? server.host, port: port ?? server.port };
}

/**
 * Returns the warnings of the file. With `--host`, the warning about the file's host is replaced by a warning about the
 * given host.
 */
export function startWarnings(
  { config, warnings }: {
    readonly config: Pick<Config, "server">;
    readonly warnings: readonly Problem[];
  },
  options: ServeOptions,
): readonly Problem[] {
  const { host } = options;
  if (host === undefined) return warnings;
  const fault = exposureFault(withOptions(config.server, options));
  return [
    ...warnings.filter(({ path }) => path !== "server.host"),
    ...(fault === undefined ? [] : [{ path: "--host", message: fault }]),
  ];
}

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
  const { startReplay } = await import("./replay_logs.ts");
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
  const { loadRedis } = await import("./redis.ts");
  const { createStoreState } = await import("../shared/store/store_state.ts");
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
