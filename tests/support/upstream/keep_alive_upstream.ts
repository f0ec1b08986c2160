import { say } from "./raw_upstream.ts";
import { startTcpServer } from "./tcp_server.ts";

/** A request on a kept-alive connection. */
export interface HeardRequest {
  /** The number of its connection, from 0. */
  readonly connection: number;
  /** The number of the request on its connection, from 0. */
  readonly turn: number;
  readonly head: string;
}

/** The upstream's next step on a connection. */
export type Next =
  /** Answers, and waits for the next request. */
  | "answer"
  /** Answers, and closes the connection before the next request. */
  | "answer and close"
  /** Closes the connection without an answer, after it has read the whole request. */
  | "close";

/** An upstream that closes kept-alive connections when the test decides. */
export interface KeepAliveUpstream extends AsyncDisposable {
  readonly url: string;
  readonly heard: readonly HeardRequest[];
  /** The number of connections that the gateway closed after the upstream had closed its side. */
  readonly givenUp: number;
}

const ANSWER =
  "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/** Starts an HTTP/1.1 upstream that keeps each connection open until `decide` returns a close. */
export function startKeepAliveUpstream(
  decide: (request: HeardRequest) => Next,
): KeepAliveUpstream {
  const heard: HeardRequest[] = [];
  let connections = 0;
  let givenUp = 0;
  const server = startTcpServer(async (connection) => {
    const number = connections++;
    for (let turn = 0;; turn++) {
      const head = await readRequest(connection);
      if (head === undefined) return;
      const request = { connection: number, turn, head };
      heard.push(request);
      const next = decide(request);
      if (next !== "close") await say(connection, ANSWER);
      if (next !== "answer") break;
    }
    await connection.closeWrite();
    await readRequest(connection);
    givenUp++;
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    heard,
    get givenUp() {
      return givenUp;
    },
    async [Symbol.asyncDispose]() {
      for (const connection of server.open) await connection.closeWrite();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * Reads one request with its body, and returns its head; `undefined` when the connection ends
 * first.
 */
async function readRequest(connection: Deno.Conn): Promise<string | undefined> {
  const decoder = new TextDecoder("latin1");
  const buffer = new Uint8Array(65_536);
  let text = "";
  for (;;) {
    const end = text.indexOf("\r\n\r\n");
    const length = Number(text.match(/content-length: (\d+)/i)?.[1] ?? 0);
    if (end !== -1 && text.length >= end + 4 + length) {
      return text.slice(0, end);
    }
    const size = await connection.read(buffer);
    if (size === null) return undefined;
    text += decoder.decode(buffer.subarray(0, size));
  }
}
