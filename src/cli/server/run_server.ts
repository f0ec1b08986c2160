import { openAdmin } from "./admin.ts";
import { type CliIo, EXIT } from "../io.ts";
import { type Listener, ListenError } from "./listen.ts";
import { type Serving, type ServingOptions, startServing } from "./serving.ts";
import { nextStopSignal } from "./signals.ts";

/** What {@linkcode runServer} serves, and how. */
export interface ServerRun extends ServingOptions {
  readonly io: CliIo;
  /** Starts what serves; default: one gateway in this thread. */
  readonly start?: (options: ServingOptions) => Promise<Serving>;
  /** Called once it listens, before the ready line. */
  readonly onReady?: (url: string) => void;
}

/**
 * Serves until SIGTERM or SIGINT, then drains: `/readyz` says so at once, new requests are turned away,
 * running ones may end within `drain_seconds` and are cut then. A second signal ends it at once.
 *
 * @returns The exit code.
 */
export async function runServer(run: ServerRun): Promise<number> {
  const { io, onReady, server, start = startServing } = run;
  let serving: Serving;
  let admin: Listener | undefined;
  try {
    serving = await start(run);
    admin = server.admin &&
      await openAdmin(server.admin, { serving, log: run.log });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    io.writeError(`${error.message}\n`);
    return EXIT.failed;
  }
  const asked = nextStopSignal();
  if (admin !== undefined) io.writeError(`metrics on ${admin.url}/metrics\n`);
  onReady?.(serving.url);
  io.writeError(`listening on ${serving.url}\n`);
  await asked;
  await serving.stop(nextStopSignal());
  return EXIT.good;
}
