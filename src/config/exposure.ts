import type { ServerConfig } from "./config.ts";

const LOOPBACK_REGEXP = /^(localhost|.+\.localhost|127(\.\d+){3}|::1)$/i;

/** Whether a host name or an address, without brackets, is this machine's own. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_REGEXP.test(host);
}

/** What is wrong with listening beyond this machine without TLS; `undefined` where that is not so. */
export function exposureFault(
  { host, tls }: Pick<ServerConfig, "host"> & { readonly tls?: unknown },
): string | undefined {
  if (tls !== undefined || isLoopback(host)) return undefined;
  return "lets other machines in without TLS, so that tokens can be read on the way: set server.tls, or let only a proxy with TLS reach it";
}
