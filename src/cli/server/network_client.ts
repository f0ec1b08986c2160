import { createDeadlines } from "../../core/time/deadlines.ts";
import { systemTimers, type Timers } from "../../core/time/timers.ts";
import { VERSION } from "../../core/version.ts";
import type { Fetch, UpstreamClient } from "../../upstream/call.ts";
import { createFetchClient } from "../../upstream/fetch_client.ts";
import { addressOf, createHttp1Client } from "../../upstream/http1/client.ts";
import { createDial } from "./dial.ts";
import { readProxies } from "./proxy_route.ts";

/** The ways to providers over the network. */
export interface NetworkClient extends Disposable {
  /** Sends callers' requests. */
  readonly client: UpstreamClient;
  /** Reads lists of models and quotas. */
  readonly fetch: Fetch;
}

/**
 * Opens the network's client. It speaks HTTP/1.1 with one request at a time on each connection. Over a shared
 * connection of HTTP/2, a caller who stops reading, a low limit on streams or a silent loss would delay all others.
 *
 * Proxies other than plain HTTP ones, such as SOCKS, go by the platform's `fetch`.
 */
export function openNetworkClient(
  env: (name: string) => string | undefined,
  timers: Timers = systemTimers,
): NetworkClient {
  const platform = Deno.createHttpClient({ http2: false });
  const viaPlatform: Fetch = (url, init) =>
    fetch(url, { ...init, client: platform });
  const routeOf = readProxies(env);
  const own = createHttp1Client({
    dial: createDial(routeOf),
    deadlines: createDeadlines(timers),
    defaultHeaders: [
      ["accept", "*/*"],
      // Some firewalls reject requests without one.
      ["user-agent", `model-gateway/${VERSION}`],
    ],
  });
  const other = createFetchClient(viaPlatform);
  return {
    client: {
      send(request) {
        const { origin } = addressOf(request.url);
        const client = routeOf(origin).kind === "other" ? other : own;
        return client.send(request);
      },
    },
    fetch: viaPlatform,
    [Symbol.dispose]() {
      own[Symbol.dispose]();
      platform.close();
    },
  };
}
