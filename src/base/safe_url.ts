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
