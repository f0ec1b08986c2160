import { createDeadlines } from "../../core/time/deadlines.ts";
import { systemTimers, type Timers } from "../../core/time/timers.ts";
import { VERSION } from "../../core/version.ts";
import type { Fetch, UpstreamClient } from "../../upstream/call.ts";
import { createHttp1Client } from "../../upstream/http1/client.ts";
import { eventLoopCrowd } from "../../upstream/http1/crowd.ts";
import { createDial } from "./dial.ts";
import { createHandshakes } from "./handshakes.ts";
import { readProxies } from "./proxy_route.ts";

/** The ways to providers over the network. */
interface NetworkClient extends Disposable {
  /** Sends callers' requests. */
  readonly client: UpstreamClient;
  /** Reads lists of models and quotas: requests that may be sent twice. */
  readonly fetch: Fetch;
  /** Returns the number of TLS handshakes that were given up and keep their descriptors. */
  abandonedHandshakes(): number;
}

/**
 * Opens the network's client. It speaks HTTP/1.1 with one request at a time on each connection. Over a shared
 * connection of HTTP/2, a caller who stops reading, a low limit on streams or a silent loss would delay all others.
 *
 * The platform's `fetch` repeats a request by itself when a kept connection closes, so it carries no caller's.
 */
export function openNetworkClient(
  env: (name: string) => string | undefined,
  timers: Timers = systemTimers,
): NetworkClient {
  const platform = Deno.createHttpClient({ http2: false });
  const viaPlatform: Fetch = (url, init) =>
    fetch(url, { ...init, client: platform });
  const handshakes = createHandshakes(timers);
  const client = createHttp1Client({
    dial: createDial(readProxies(env), [], handshakes),
    deadlines: createDeadlines(timers),
    crowd: eventLoopCrowd,
    defaultHeaders: [
      ["accept", "*/*"],
      // Some firewalls reject requests without one.
      ["user-agent", `model-gateway/${VERSION}`],
    ],
  });
  return {
    client,
    fetch: viaPlatform,
    abandonedHandshakes: () => handshakes.abandoned,
    [Symbol.dispose]() {
      client[Symbol.dispose]();
      platform.close();
    },
  };
}
