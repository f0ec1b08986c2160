import { startTcpServer, writeAll } from "./tcp_server.ts";

/** A store that demands a password. */
export interface LockedStore extends AsyncDisposable {
  /** The URL without a credential. */
  readonly url: string;
  /** Demands another password from now on, and closes every connection. */
  changePassword(password: string): Promise<void>;
}

/** The replies of an empty store in RESP 2, by the command; others are `OK`. */
const REPLIES: Readonly<Record<string, () => string>> = {
  GET: () => "$-1\r\n",
  HGETALL: () => "*0\r\n",
  TIME: () => `*2\r\n$10\r\n${Math.floor(Date.now() / 1000)}\r\n$1\r\n0\r\n`,
  XREAD: () => "*-1\r\n",
};

/**
 * Starts a server that speaks RESP 2 and stores nothing. It tests passwords without an installed Valkey or Redis, with
 * the errors of Redis 7.
 */
export function startFakeStore(first: string): LockedStore {
  let password = first;
  const server = startTcpServer(async (connection) => {
    let isKnown = false;
    for await (const command of commandsOf(connection)) {
      const [name = "", ...rest] = command;
      let reply = REPLIES[name]?.() ?? "+OK\r\n";
      if (name === "AUTH") {
        isKnown = rest.at(-1) === password;
        if (!isKnown) {
          reply = "-WRONGPASS invalid username-password pair or user is " +
            "disabled.\r\n";
        }
      } else if (!isKnown) reply = "-NOAUTH Authentication required.\r\n";
      await writeAll(connection, new TextEncoder().encode(reply));
    }
  });
  return {
    url: `redis://127.0.0.1:${server.port}`,
    changePassword(next) {
      password = next;
      server.closeAll();
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Reads commands: lists of texts, each after its length in bytes. */
async function* commandsOf(
  connection: Deno.Conn,
): AsyncGenerator<readonly string[]> {
  // A character per byte, so that lengths in bytes are lengths of texts.
  let text = "";
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const size = await connection.read(buffer);
    if (size === null) return;
    text += String.fromCharCode(...buffer.subarray(0, size));
    for (;;) {
      const [command, end] = firstCommand(text);
      if (command === undefined) break;
      yield command;
      text = text.slice(end);
    }
  }
}

/** Returns the first command of a text, once it is whole, and the position of its end. */
function firstCommand(
  text: string,
): readonly [command: readonly string[] | undefined, end: number] {
  const head = /^\*(\d+)\r\n/.exec(text);
  const command: string[] = [];
  let end = head?.[0].length ?? 0;
  while (head !== null && command.length < Number(head[1])) {
    const length = /^\$(\d+)\r\n/.exec(text.slice(end, end + 16));
    if (length === null) break;
    const start = end + length[0].length;
    end = start + Number(length[1]) + 2;
    if (end > text.length) break;
    command.push(text.slice(start, end - 2));
  }
  const isWhole = head !== null && command.length === Number(head[1]);
  return [isWhole ? command : undefined, end];
}
