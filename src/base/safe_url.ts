const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Returns true for a URL that a secret may be sent to: with TLS, or of this machine.
 *
 * @param plainHosts Further hosts without TLS.
 */
export function isSafeUrl(
  text: string,
  plainHosts: readonly string[] = [],
): boolean {
  const { protocol, hostname = "" } = URL.parse(text) ?? {};
  return protocol === "https:" ||
    protocol === "http:" && [...LOCAL_HOSTS, ...plainHosts].includes(hostname);
}

/** Returns the port in the address of a listener; an address with its scheme's port names none. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Returns a host as a URL has it: an address of IPv6 in brackets. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
