import { within } from "./within.ts";

/** What came back over a socket, up to its end. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** As it came, chunk sizes included. */
  readonly body: string;
}

/** A socket to a server on this machine, for requests that no client would send. */
export interface RawSocket extends Disposable {
  /** Characters are bytes, so that any byte can be written. */
  write(text: string): Promise<void>;
  /** Tells the server that nothing more comes. */
  closeWrite(): Promise<void>;
  /** Everything until the server closes or breaks the connection. */
  readAll(): Promise<string>;
  /** Everything until the server closes the connection, as an answer. */
  answer(): Promise<RawAnswer>;
}

/** Connects to a port of this machine. */
export async function connectRaw(port: number): Promise<RawSocket> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });

  async function readAll(): Promise<string> {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(65_536);
    let text = "";
    for (;;) {
      const size = await connection.read(buffer).catch(() => null);
      if (size === null) return text;
      text += decoder.decode(buffer.subarray(0, size), { stream: true });
    }
  }

  return {
    async write(text) {
      let rest = Uint8Array.from(text, (one) => one.charCodeAt(0));
      while (rest.length > 0) {
        rest = rest.subarray(await connection.write(rest));
      }
    },
    closeWrite: () => connection.closeWrite(),
    readAll: () => within(readAll(), "the server to close the connection"),
    answer: () =>
      within(readAll().then(parseAnswer), "the server to answer and close"),
    [Symbol.dispose]: () => connection.close(),
  };
}

/** Sends one request as it is and gives the answer; the request must ask the server to close. */
export async function sendRaw(port: number, text: string): Promise<RawAnswer> {
  using socket = await connectRaw(port);
  await socket.write(text);
  return await socket.answer();
}

function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) throw new Error(`This is no answer: ${JSON.stringify(text)}`);
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers(lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  }));
  const status = Number(statusLine.split(" ")[1]);
  return { status, headers, body: text.slice(end + 4) };
}
