import type { HttpClient } from "../message.ts";
import { createHttp1Client } from "../client/client.ts";
import { eventLoopCrowd } from "../crowd.ts";
import { createDial } from "./dial.ts";
import { createHandshakes } from "./handshakes.ts";
import { readProxies } from "./proxy_route.ts";
import { createDeadlines } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";

/** The settings of {@linkcode openNetworkClient}. */
interface NetworkOptions {
  /** Reads the variables that name proxies: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. */
  readonly env: (name: string) => string | undefined;
  /** The `user-agent` of requests that have no such header. */
  readonly userAgent: string;
  readonly timers?: Timers;
}

/** The clients of the network. Proxies, `NO_PROXY` and trusted authorities apply to all requests. */
interface NetworkClient extends Disposable {
  /** A client that keeps its connections for further requests. */
  readonly client: HttpClient;
  /** A client that opens a connection for each request, and requests no content encoding. */
  readonly oneShot: HttpClient;
  /** Returns the number of abandoned TLS handshakes that still keep their descriptors. */
  abandonedHandshakes(): number;
}

/**
 * Opens the network's client. The client speaks HTTP/1.1 with one request at a time on each connection. Over a shared
 * connection of HTTP/2, a caller who stops reading, a low limit on streams or a silent loss would delay all other
 * requests.
 */
export function openNetworkClient(
  { env, userAgent, timers = systemTimers }: NetworkOptions,
): NetworkClient {
  const handshakes = createHandshakes(timers);
  const options = {
    dial: createDial(readProxies(env), [], handshakes),
    deadlines: createDeadlines(timers),
    defaultHeaders: [
      ["accept", "*/*"],
      // Some firewalls reject requests without a `user-agent`.
      ["user-agent", userAgent],
    ],
  } as const;
  const client = createHttp1Client({ ...options, crowd: eventLoopCrowd });
  const oneShot = createHttp1Client({
    ...options,
    maxIdle: 0,
    defaultHeaders: [...options.defaultHeaders, [
      "accept-encoding",
      "identity",
    ]],
  });
  return {
    client,
    oneShot,
    abandonedHandshakes: () => handshakes.abandoned,
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}
