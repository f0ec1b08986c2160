/** An upstream on raw sockets. */
export interface RawUpstream extends AsyncDisposable {
  readonly url: string;
}

/**
 * Handles a connection after the request headers have arrived. The upstream closes the connection
 * afterwards.
 */
export type Talk = (connection: Deno.Conn) => void | Promise<void>;

/**
 * Starts an upstream that may break the rules of HTTP.
 *
 * @param tls Its certificate, for TLS.
 */
export function startRawUpstream(
  talk: Talk,
  tls?: {
    readonly cert: string;
    readonly key: string;
    readonly alpnProtocols?: string[];
    /** Default: a free one. */
    readonly port?: number;
  },
): RawUpstream {
  const address = { hostname: "127.0.0.1", port: 0 };
  const listener = tls === undefined
    ? Deno.listen(address)
    : Deno.listenTls({ ...address, ...tls });
  const talks: Promise<void>[] = [];
  const accept = async () => {
    for await (const connection of listener) {
      talks.push(serve(connection, talk));
    }
  };
  const accepting = accept();
  return {
    url: `http${tls ? "s" : ""}://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(talks);
    },
  };
}

/** Writes a text to a connection. */
export async function say(connection: Deno.Conn, text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}

/** Reads at least `count` bytes, or until the other side closes the connection. */
export async function readSome(
  connection: Deno.Conn,
  bytes: number,
): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (let size = 0; size < bytes;) {
    size += await connection.read(buffer) ?? Infinity;
  }
}

/** Reads until the other side closes the connection. */
export async function listenToEnd(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(65_536);
  while (await connection.read(buffer) !== null) {
    // An error ends the connection, too.
  }
}

async function serve(connection: Deno.Conn, talk: Talk): Promise<void> {
  try {
    await connection.read(new Uint8Array(65_536));
    await talk(connection);
  } catch {
    // The gateway may disconnect at any time. The test checks the result.
  } finally {
    connection.close();
  }
}
