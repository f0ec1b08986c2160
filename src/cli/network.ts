import type { Fetch } from "../upstream/call.ts";

/**
 * The network's `fetch` for upstreams: more kept-alive connections to one host than the platform's default
 * keeps, since all of a company's traffic to a provider runs through here.
 */
export function networkFetch(): Fetch {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1024 });
  return (url, init) => fetch(url, { ...init, client });
}
