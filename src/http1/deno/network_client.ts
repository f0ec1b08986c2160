import { createDeadlines } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";
import { VERSION } from "@gateway/base/version";
import type { Fetch, UpstreamClient } from "../../gateway/upstream/call.ts";
import { createClientFetch } from "../../gateway/upstream/fetch_client.ts";
import { createHttp1Client } from "../client/client.ts";
import { eventLoopCrowd } from "../crowd.ts";
import { createDial } from "./dial.ts";
import { createHandshakes } from "./handshakes.ts";
import { readProxies } from "./proxy_route.ts";

/** The ways over the network. Proxies, `NO_PROXY` and trusted authorities count alike for all requests. */
interface NetworkClient extends Disposable {
  /** Sends callers' requests to providers. */
  readonly client: UpstreamClient;
  /** Sends the program's own requests. */
  readonly fetch: Fetch;
  /** Returns the number of TLS handshakes that were given up and keep their descriptors. */
  abandonedHandshakes(): number;
}

/**
 * Opens the network's client. It speaks HTTP/1.1 with one request at a time on each connection. Over a shared
 * connection of HTTP/2, a caller who stops reading, a low limit on streams or a silent loss would delay all others.
 *
 * Each of the program's own requests has a connection to itself: they are rare, and a kept connection may be lost.
 */
export function openNetworkClient(
  env: (name: string) => string | undefined,
  timers: Timers = systemTimers,
): NetworkClient {
  const handshakes = createHandshakes(timers);
  const options = {
    dial: createDial(readProxies(env), [], handshakes),
    deadlines: createDeadlines(timers),
    defaultHeaders: [
      ["accept", "*/*"],
      // Some firewalls reject requests without one.
      ["user-agent", `model-gateway/${VERSION}`],
    ],
  } as const;
  const client = createHttp1Client({ ...options, crowd: eventLoopCrowd });
  const own = createHttp1Client({
    ...options,
    maxIdle: 0,
    defaultHeaders: [...options.defaultHeaders, [
      "accept-encoding",
      "identity",
    ]],
  });
  return {
    client,
    fetch: createClientFetch(own),
    abandonedHandshakes: () => handshakes.abandoned,
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}
