import { say } from "./raw_upstream.ts";

/** A proxy for HTTP that does what the test says. */
export interface ScriptedProxy extends AsyncDisposable {
  readonly port: number;
  /** The head of the first request of each connection. */
  readonly heads: readonly string[];
}

/**
 * Starts a proxy.
 *
 * @param answer What it sends to each connection whose first head has come.
 * @param tunnelTo The port of this machine that it connects with afterwards; default: it closes.
 */
export function startScriptedProxy(
  answer: string,
  tunnelTo?: number,
): ScriptedProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const heads: string[] = [];
  const talks: Promise<void>[] = [];

  async function talk(connection: Deno.TcpConn): Promise<void> {
    try {
      heads.push(await readHead(connection));
      await say(connection, answer);
      if (tunnelTo !== undefined) await join(connection, tunnelTo);
    } catch {
      // The client may leave at any time.
    } finally {
      connection.close();
    }
  }

  const accepting = (async () => {
    for await (const connection of listener) talks.push(talk(connection));
  })();
  return {
    port: listener.addr.port,
    heads,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(talks);
    },
  };
}

/** Reads a head byte by byte: what follows belongs to the tunnel. */
async function readHead(connection: Deno.TcpConn): Promise<string> {
  let text = "";
  while (!text.endsWith("\r\n\r\n")) {
    const byte = new Uint8Array(1);
    if (await connection.read(byte) === null) break;
    text += String.fromCharCode(...byte);
  }
  return text;
}

/** Carries bytes both ways until one side ends. */
async function join(client: Deno.TcpConn, port: number): Promise<void> {
  const server = await Deno.connect({ hostname: "127.0.0.1", port });
  const carry = async (from: Deno.Conn, to: Deno.TcpConn) => {
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const size = await from.read(buffer);
      if (size === null) return;
      let rest = buffer.subarray(0, size);
      while (rest.length > 0) rest = rest.subarray(await to.write(rest));
    }
  };
  try {
    await Promise.race([carry(client, server), carry(server, client)]);
  } finally {
    server.close();
  }
}
