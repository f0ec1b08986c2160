import { writeAll } from "./tcp_server.ts";

/** A TCP hop between a gateway and its upstream. */
export interface TcpRelay extends AsyncDisposable {
  readonly port: number;
  /** The number of accepted connections. */
  readonly connections: number;
  /**
   * Discards all further bytes of the open connections, without a sign to either side. Later
   * connections work.
   */
  swallow(): void;
  /** The delay of each chunk, in milliseconds; initially 0. */
  delayMs: number;
  /** Closes every connection. Later connections lead to another port of this machine. */
  reroute(port: number): void;
}

/** Starts a hop to a port of this machine. */
export function startTcpRelay(firstPort: number): TcpRelay {
  let port = firstPort;
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const passing: Promise<void>[] = [];
  let connections = 0;
  /** Connections with a lower number are dead. */
  let firstAlive = 0;

  async function pass(from: Deno.Conn, to: Deno.Conn, number: number) {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const size = await from.read(buffer);
        const isAlive = number >= firstAlive;
        if (size === null) return isAlive ? await to.closeWrite() : undefined;
        if (!isAlive) continue;
        if (relay.delayMs > 0) await delay(relay.delayMs);
        await writeAll(to, buffer.subarray(0, size));
      }
    } catch {
      // One side has disconnected.
    }
  }

  async function connect(near: Deno.Conn): Promise<void> {
    const number = connections++;
    open.add(near);
    const far = await Deno.connect({ hostname: "127.0.0.1", port })
      .catch(() => undefined);
    // The near connection was closed in the meantime: close the far one.
    if (far === undefined || !open.has(near)) {
      far?.close();
      if (open.delete(near)) near.close();
      return;
    }
    open.add(far);
    passing.push(pass(near, far, number), pass(far, near, number));
  }

  const accepting = (async () => {
    for await (const near of listener) await connect(near);
  })();
  const relay = {
    delayMs: 0,
    port: listener.addr.port,
    get connections() {
      return connections;
    },
    swallow() {
      firstAlive = connections;
    },
    reroute(next: number) {
      port = next;
      for (const connection of open) connection.close();
      open.clear();
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      open.clear();
      await accepting;
      await Promise.all(passing);
    },
  };
  return relay;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
