import { say } from "./raw_upstream.ts";
import { join, startTcpServer } from "./tcp_server.ts";

/** A proxy for HTTP with the responses of a test. */
export interface ScriptedProxy extends AsyncDisposable {
  readonly port: number;
  /** The head of the first request of each connection. */
  readonly heads: readonly string[];
}

/**
 * Starts a proxy.
 *
 * @param answer The response to the first head of each connection.
 * @param tunnelTo The port of this machine to which it then tunnels; by default, it closes the connection.
 */
export function startScriptedProxy(
  answer: string,
  tunnelTo?: number,
): ScriptedProxy {
  const heads: string[] = [];
  const server = startTcpServer(async (connection) => {
    heads.push(await readHead(connection));
    await say(connection, answer);
    if (tunnelTo !== undefined) await join(connection, tunnelTo);
  });
  return { ...server, heads };
}

/** Reads a head byte by byte: the bytes after it belong to the tunnel. */
async function readHead(connection: Deno.Conn): Promise<string> {
  let text = "";
  while (!text.endsWith("\r\n\r\n")) {
    const byte = new Uint8Array(1);
    if (await connection.read(byte) === null) break;
    text += String.fromCharCode(...byte);
  }
  return text;
}
