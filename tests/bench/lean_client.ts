/**
 * A minimal HTTP/1.1 client: kept connections, `content-length` and chunked answers, one write for a request and one
 * read for a chunk. It has no deadlines, limits or repair of broken answers.
 */

/** An answer whose body arrives whole or in pieces. */
export interface LeanAnswer {
  readonly status: number;
  readonly headers: [string, string][];
  /** The pieces of a chunked body, or the whole body. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

interface Line {
  readonly connection: Deno.TcpConn;
  readonly buffer: Uint8Array;
}

const idle: Line[] = [];
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const BUFFER_BYTES = 65_536;
const CR = 13;
const LF = 10;

/** A request to a server of plain HTTP. */
export interface LeanRequest {
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: Uint8Array;
  /** Changes each piece of a chunked answer; default: none. */
  readonly change?: (piece: Uint8Array) => Uint8Array;
}

/** Posts a body and returns the answer as soon as its head is there. */
export async function leanPost(
  { url, headers, body, change }: LeanRequest,
): Promise<LeanAnswer> {
  const { hostname, port, pathname } = new URL(url);
  let head = `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n`;
  for (const [name, value] of headers) {
    if (name === "host" || name === "content-length") continue;
    head += `${name}: ${value}\r\n`;
  }
  const start = encoder.encode(`${head}content-length: ${body.length}\r\n\r\n`);
  const message = new Uint8Array(start.length + body.length);
  message.set(start);
  message.set(body, start.length);
  const line = idle.pop() ?? {
    connection: await Deno.connect({ hostname, port: Number(port) }),
    buffer: new Uint8Array(BUFFER_BYTES),
  };
  for (let at = 0; at < message.length;) {
    at += await line.connection.write(message.subarray(at));
  }
  return await readAnswer(line, change);
}

async function readAnswer(
  line: Line,
  change: LeanRequest["change"],
): Promise<LeanAnswer> {
  const { connection, buffer } = line;
  let length = 0;
  let end = -1;
  while (end < 0) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) throw new Error("The upstream closed before its answer");
    length += read;
    end = headEnd(buffer, length);
  }
  const [first = "", ...lines] = decoder.decode(buffer.subarray(0, end - 4))
    .split("\r\n");
  const headers: [string, string][] = [];
  let bytes = -1;
  for (const field of lines) {
    const colon = field.indexOf(":");
    const name = field.slice(0, colon);
    const value = field.slice(colon + 2);
    if (name === "content-length") bytes = Number(value);
    else if (name !== "transfer-encoding" && name !== "connection") {
      headers.push([name, value]);
    }
  }
  const status = Number(first.slice(9, 12));
  if (bytes < 0) {
    return {
      status,
      headers,
      body: chunks(line, buffer.slice(end, length), change),
    };
  }
  const body = new Uint8Array(bytes);
  body.set(buffer.subarray(end, length));
  for (let at = length - end; at < bytes;) {
    at += await connection.read(body.subarray(at)) ?? Infinity;
  }
  idle.push(line);
  return { status, headers, body };
}

function headEnd(buffer: Uint8Array, length: number): number {
  for (let at = 3; at < length; at++) {
    if (buffer[at] === LF && buffer[at - 1] === CR && buffer[at - 2] === LF) {
      return at + 1;
    }
  }
  return -1;
}

/** Returns a chunked body without its frames: one piece for each read. */
function chunks(
  line: Line,
  first: Uint8Array,
  change: LeanRequest["change"] = (piece) => piece,
): ReadableStream<Uint8Array> {
  /** The remaining bytes of the chunk with its line break, or of a size line (negative). */
  let left = 0;
  let size = "";
  let isOver = false;
  /** Returns the payload of some bytes, moved together in place. */
  const payload = (bytes: Uint8Array): Uint8Array => {
    let from = 0;
    let to = 0;
    while (from < bytes.length) {
      if (left > 0) {
        const end = Math.min(bytes.length, from + left);
        left -= end - from;
        // The last two bytes of a chunk are its line break.
        const content = left >= 2 ? end : Math.max(from, end - (2 - left));
        bytes.copyWithin(to, from, content);
        to += content - from;
        from = end;
        continue;
      }
      const code = bytes[from++] ?? 0;
      if (code !== LF) {
        if (code !== CR) size += String.fromCharCode(code);
        continue;
      }
      const chunk = parseInt(size, 16);
      size = "";
      left = chunk + 2;
      isOver = chunk === 0;
      if (isOver) break;
    }
    return bytes.subarray(0, to);
  };
  return new ReadableStream({
    async pull(controller) {
      let bytes = change(payload(first));
      first = first.subarray(0, 0);
      while (bytes.length === 0 && !isOver) {
        const read = await line.connection.read(line.buffer);
        if (read === null) throw new Error("The upstream cut its answer");
        bytes = change(payload(line.buffer.slice(0, read)));
      }
      if (bytes.length > 0) controller.enqueue(bytes);
      if (!isOver) return;
      controller.close();
      idle.push(line);
    },
  }, { highWaterMark: 0 });
}
