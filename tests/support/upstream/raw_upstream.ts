/** An upstream that speaks below HTTP. */
export interface RawUpstream extends AsyncDisposable {
  readonly url: string;
}

/** What it does with a connection whose request's headers have come; the connection is closed afterwards. */
export type Talk = (connection: Deno.Conn) => void | Promise<void>;

/**
 * Starts an upstream that breaks the rules of HTTP as the test says.
 *
 * @param tls Its certificate, where it speaks TLS.
 */
export function startRawUpstream(
  talk: Talk,
  tls?: {
    readonly cert: string;
    readonly key: string;
    readonly alpnProtocols?: string[];
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

/** Reads at least so many bytes, unless the other side closes the connection before. */
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
    // Only the end counts.
  }
}

async function serve(connection: Deno.Conn, talk: Talk): Promise<void> {
  try {
    await connection.read(new Uint8Array(65_536));
    await talk(connection);
  } catch {
    // The gateway may leave in the middle; what it makes of that is the test's matter.
  } finally {
    connection.close();
  }
}
