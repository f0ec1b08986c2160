import { createGateway } from "../app.ts";
import type { ServerConfig } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import type { Log } from "../observe/log.ts";
import type { Fetch } from "../upstream/call.ts";
import { type CliIo, EXIT } from "./io.ts";
import { listen, type Listener, ListenError } from "./listen.ts";
import { nextStopSignal } from "./signals.ts";

/** What {@linkcode runServer} serves, and how. */
export interface ServerRun {
  readonly store: ConfigStore;
  /** The settings of the listener, with what the command line overrides. */
  readonly server: ServerConfig;
  readonly fetch: Fetch;
  readonly log: Log;
  readonly io: CliIo;
  /** Called once it listens, before the ready line. */
  readonly onReady?: (url: string) => void;
}

/** How long the listener may take to close once everything is served or cut, in milliseconds. */
const CLOSE_MS = 1_000;

/**
 * Serves until SIGTERM or SIGINT, then drains: `/readyz` says so at once, new requests are turned away,
 * running ones may end within `drain_seconds` and are cut then. A second signal ends it at once.
 *
 * @returns The exit code.
 */
export async function runServer(run: ServerRun): Promise<number> {
  const { admission, handler } = createGateway(run);
  let listener: Listener;
  try {
    listener = listen(run.server, handler);
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    run.io.writeError(`${error.message}\n`);
    return EXIT.failed;
  }
  const asked = nextStopSignal();
  run.onReady?.(listener.url);
  run.io.writeError(`listening on ${listener.url}\n`);
  await asked;
  const askedAgain = nextStopSignal();
  run.log.write("info", "draining", { requests: admission.active });
  const drainMs = run.store.current().server.drainMs;
  const outcome = await Promise.race([
    admission.drain().then(() => "drained" as const),
    after(drainMs).then(() => "late" as const),
    askedAgain.then(() => "hurried" as const),
  ]);
  if (outcome !== "drained") {
    run.log.write("warn", "cut", { requests: admission.active });
    admission.cut();
  }
  await Promise.race([listener.close(), after(CLOSE_MS), askedAgain]);
  run.log.write("info", "stopped", {});
  return EXIT.good;
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
