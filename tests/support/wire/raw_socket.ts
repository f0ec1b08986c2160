import { until, within } from "../within.ts";

/** A response on a raw socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The received bytes, with chunk sizes. */
  readonly body: string;
  /** True when the body has its declared length; false without a declared length. */
  readonly isWhole: boolean;
}

/** A socket to a server on this machine, for requests that no HTTP client would send. */
export interface RawSocket extends Disposable {
  /** Each character of a text is one byte, so that a text can hold any byte. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Reads the next bytes, however few. */
  readSome(): Promise<void>;
  /** Reads until the server closes or breaks the connection. */
  readAll(): Promise<string>;
  /**
   * Reads one response: up to its declared length, or until the server closes or breaks the
   * connection.
   */
  answer(): Promise<RawAnswer>;
}

/** Connects to a port of this machine. */
export async function connectRaw(port: number): Promise<RawSocket> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });

  async function readUntil(isEnough: (text: string) => boolean) {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(65_536);
    let text = "";
    while (!isEnough(text)) {
      const size = await connection.read(buffer).catch(() => null);
      if (size === null) break;
      text += decoder.decode(buffer.subarray(0, size), { stream: true });
    }
    return text;
  }

  return {
    async write(piece) {
      let rest = typeof piece === "string"
        ? Uint8Array.from(piece, (one) => one.charCodeAt(0))
        : piece;
      while (rest.length > 0) {
        rest = rest.subarray(await connection.write(rest));
      }
    },
    async readSome() {
      const read = connection.read(new Uint8Array(65_536));
      if (await within(read, "the server to answer") === null) {
        throw new Error("The server closed the connection");
      }
    },
    readAll: () =>
      within(readUntil(() => false), "the server to close the connection"),
    async answer() {
      const text = readUntil((text) => parseAnswer(text)?.isWhole ?? false);
      const answer = parseAnswer(await within(text, "the server to answer"));
      if (answer === undefined) throw new Error("The server gave no answer");
      return answer;
    },
    [Symbol.dispose]: () => connection.close(),
  };
}

/** Sends one request unchanged and returns the response. */
export async function sendRaw(port: number, text: string): Promise<RawAnswer> {
  using socket = await connectRaw(port);
  await socket.write(text);
  return await socket.answer();
}

/** Uploads that begin and do not end. */
export interface OpenUploads {
  readonly count: number;
  /** The part that is sent of each. */
  readonly begun: readonly (string | Uint8Array)[];
  /** True when the server has received all of them. */
  areThere(): boolean | Promise<boolean>;
}

/**
 * Opens uploads that stop in the middle, each on its own socket, and waits until the server has
 * them.
 */
export async function openUploads(
  port: number,
  { count, begun, areThere }: OpenUploads,
): Promise<Disposable> {
  const sockets: RawSocket[] = [];
  const uploads = {
    [Symbol.dispose]() {
      for (const socket of sockets) socket[Symbol.dispose]();
    },
  };
  try {
    for (let index = 0; index < count; index++) {
      const socket = await connectRaw(port);
      sockets.push(socket);
      for (const piece of begun) {
        // The server may have rejected the upload and closed its side.
        await within(socket.write(piece).catch(() => {}), "the upload");
      }
    }
    await until(areThere, "the uploads to begin");
    return uploads;
  } catch (error) {
    uploads[Symbol.dispose]();
    throw error;
  }
}

/** @returns `undefined` while the headers are incomplete. */
function parseAnswer(text: string): RawAnswer | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers(lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  }));
  const bytes = new TextEncoder().encode(text.slice(end + 4));
  return {
    status: Number(statusLine.split(" ")[1]),
    headers,
    body: new TextDecoder().decode(bytes.subarray(0, declaredBytes(headers))),
    isWhole: bytes.length >= declaredBytes(headers),
  };
}

function declaredBytes(headers: Headers): number {
  return Number(headers.get("content-length") ?? Infinity);
}
