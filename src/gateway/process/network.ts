import type { HttpClient } from "@gateway/http1";
import { openNetworkClient } from "@gateway/http1/deno";
import type { Timers } from "@gateway/base/time/timers";
import { VERSION } from "@gateway/base/version";
import type { Fetch } from "../upstream/call.ts";
import { createClientFetch } from "../upstream/fetch_client.ts";

/** The gateway's HTTP clients. */
interface Network extends ReturnType<typeof openNetworkClient> {
  /** Sends callers' requests to providers. */
  readonly client: HttpClient;
  /**
   * Sends the program's own requests, each on a new socket: such requests are rare, and an idle socket may be closed.
   */
  readonly fetch: Fetch;
}

/** Opens the gateway's HTTP clients, with the proxies of the environment. */
export function openNetwork(
  env: (name: string) => string | undefined,
  timers?: Timers,
): Network {
  const network = openNetworkClient({
    ...{ env, userAgent: `model-gateway/${VERSION}` },
    ...(timers && { timers }),
  });
  return { ...network, fetch: createClientFetch(network.oneShot) };
}
