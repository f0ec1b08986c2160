import type { Reach } from "../../upstream/connect_watch.ts";

const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] as const;

/**
 * Opens connections to the hosts of upstreams, TLS handshake included, and closes them.
 *
 * @returns `undefined` behind a proxy: only that one has to be reached, and it says itself when it cannot.
 */
export function networkReach(
  env: (name: string) => string | undefined,
): Reach | undefined {
  const isProxied = PROXY_VARIABLES.some((name) =>
    (env(name) ?? env(name.toLowerCase()) ?? "") !== ""
  );
  return isProxied ? undefined : reach;
}

async function reach(url: string, signal: AbortSignal): Promise<void> {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  const host = hostname.replace(/^\[|\]$/g, "");
  const connection = await Deno.connect({
    hostname: host,
    port: port === "" ? (isSecure ? 443 : 80) : Number(port),
    signal,
  });
  if (!isSecure) return connection.close();
  const secure = await Deno.startTls(connection, { hostname: host });
  const stop = () => secure.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await secure.handshake();
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) secure.close();
  }
}
