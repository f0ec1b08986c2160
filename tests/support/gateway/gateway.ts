import { listen } from "../../../src/http1/deno/listen.ts";
import { openNetwork } from "../../../src/gateway/process/network.ts";
import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import type { HttpClient } from "../../../src/http1/message.ts";
import { createGateway } from "../../../src/gateway/app.ts";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../../src/gateway/config/live_config.ts";
import type { Clock, Timers } from "../../../src/base/time/timers.ts";
import type { Admission } from "../../../src/gateway/relay/request/admission.ts";
import { ask, PATHS } from "../wire/ask.ts";
import { configOf, loadFile } from "./config.ts";
import { createLogLines, type LogLines } from "./log_lines.ts";

/** A gateway on a socket of this machine. */
export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Sends a request to the gateway; the connections are closed with the gateway. */
  call(path: string, init?: RequestInit): Promise<Response>;
  /** Sends a request of a protocol to its path; see {@linkcode ask}. */
  ask(...request: Parameters<typeof ask>): Promise<Response>;
  /** The same as a `fetch`, for clients that build whole URLs. */
  readonly fetch: typeof fetch;
  readonly lines: LogLines;
  readonly liveConfig: LiveConfig;
  readonly admission: Admission;
}

/**
 * Serves a configuration file on a free port.
 *
 * @param given The `fetch` for upstreams; default: over the network.
 * @param client The client for callers' requests; default: the network's, or the given `fetch`.
 * @param timers The timers for the deadlines of requests; default: those of this machine.
 * @param clock The clock for cool-downs and time stamps; default: that of this machine.
 */
export async function startGateway(
  file: Readonly<Record<string, unknown>>,
  { fetch: given, client: own, timers, clock }: {
    readonly fetch?: Fetch;
    readonly client?: HttpClient;
    readonly timers?: Timers;
    readonly clock?: Clock;
  } = {},
): Promise<RunningGateway> {
  const config = configOf(await loadFile(file));
  const liveConfig = createLiveConfig(config);
  const lines = createLogLines();
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 100 });
  const viaClient: Fetch = (url, init) => fetch(url, { ...init, client });
  const network = openNetwork(Deno.env.get, timers);
  const { handler, admission } = createGateway({
    liveConfig,
    fetch: given ?? network.fetch,
    client: own ?? (given === undefined ? network.client : undefined),
    log: lines.log,
    // With the timers of a test, requests watch for their caller's disconnect at once.
    ...(timers === undefined ? { followAfterMs: 50 } : { timers }),
    ...(clock === undefined ? {} : { clock }),
  });
  const listener = listen({ ...config.server, port: 0 }, handler);
  const call = (path: string, init: RequestInit = {}) =>
    viaClient(listener.url + path, init);
  return {
    url: listener.url,
    port: Number(new URL(listener.url).port),
    call,
    ask: (protocol, ...rest) => call(PATHS[protocol], ask(protocol, ...rest)),
    fetch: (input, init) => fetch(input, { ...init, client }),
    lines,
    liveConfig,
    admission,
    async [Symbol.asyncDispose]() {
      client.close();
      network[Symbol.dispose]();
      await listener.close();
    },
  };
}
