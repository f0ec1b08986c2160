/**
 * The ports from which {@linkcode freePort} chooses. The system never assigns them by itself, so no other program takes
 * one before its own program listens.
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
