/** A server on raw sockets of this machine. */
export interface TcpServer extends AsyncDisposable {
  readonly port: number;
  /** The connections of its clients. */
  readonly open: ReadonlySet<Deno.Conn>;
  /** Closes every connection of its clients. */
  closeAll(): void;
}

/** The certificate of a server that speaks TLS. */
export interface TcpServerTls {
  readonly cert: string;
  readonly key: string;
  readonly alpnProtocols?: string[];
  /** Default: a free one. */
  readonly port?: number;
}

/**
 * Starts a server.
 *
 * @param talk Handles a connection, which is closed afterwards. Its errors are ignored: the client may leave at any
 *   time.
 */
export function startTcpServer(
  talk: (connection: Deno.Conn) => void | Promise<void>,
  tls?: TcpServerTls,
): TcpServer {
  const address = { hostname: "127.0.0.1", port: 0 };
  const listener = tls === undefined
    ? Deno.listen(address)
    : Deno.listenTls({ ...address, ...tls });
  const open = new Set<Deno.Conn>();
  const talks: Promise<void>[] = [];

  async function serve(connection: Deno.Conn): Promise<void> {
    open.add(connection);
    try {
      await talk(connection);
    } catch {
      // The test checks the result.
    } finally {
      if (open.delete(connection)) connection.close();
    }
  }

  const accepting = (async () => {
    for await (const connection of listener) talks.push(serve(connection));
  })();
  return {
    port: listener.addr.port,
    open,
    closeAll() {
      for (const connection of open) connection.close();
      open.clear();
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(talks);
    },
  };
}

/** Writes all bytes to a connection. */
export async function writeAll(
  connection: Deno.Conn,
  bytes: Uint8Array,
): Promise<void> {
  let rest = bytes;
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}

/** Passes bytes on until they end. */
export async function carry(from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const size = await from.read(buffer);
    if (size === null) return;
    await writeAll(to, buffer.subarray(0, size));
  }
}

/** Carries bytes both ways between a connection and a port of this machine, until one side ends. */
export async function join(near: Deno.Conn, port: number): Promise<void> {
  const far = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    await Promise.race([carry(near, far), carry(far, near)]);
  } finally {
    far.close();
  }
}
