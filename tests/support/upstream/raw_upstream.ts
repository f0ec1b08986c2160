import { startTcpServer, type TcpServerTls, writeAll } from "./tcp_server.ts";

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
export function startRawUpstream(talk: Talk, tls?: TcpServerTls): RawUpstream {
  const server = startTcpServer(async (connection) => {
    await connection.read(new Uint8Array(65_536));
    await talk(connection);
  }, tls);
  const url = `http${tls ? "s" : ""}://127.0.0.1:${server.port}`;
  return { ...server, url };
}

/** Writes a text to a connection. */
export async function say(connection: Deno.Conn, text: string): Promise<void> {
  await writeAll(connection, new TextEncoder().encode(text));
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
  await readSome(connection, Infinity);
}
