const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Returns true when a secret may be sent to a URL: the URL has TLS, or its host is this machine.
 *
 * @param plainHosts Further hosts that need no TLS.
 */
export function isSafeUrl(
  text: string,
  plainHosts: readonly string[] = [],
): boolean {
  const { protocol, hostname = "" } = URL.parse(text) ?? {};
  return protocol === "https:" ||
    protocol === "http:" && [...LOCAL_HOSTS, ...plainHosts].includes(hostname);
}

/** Returns the port of a URL. If the URL names no port, returns the default port of its scheme. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Returns a host as it appears in a URL: an IPv6 address in brackets. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
