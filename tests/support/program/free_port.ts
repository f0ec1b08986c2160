/**
 * The ports from which {@linkcode freePort} chooses. The system gives none of them to a connection or a listener without
 * a port, which could take a free one before its program listens.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** Returns a port that was free a moment ago. */
export function freePort(): number {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    try {
      using _ = Deno.listen({ hostname: "127.0.0.1", port });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
