import { decompress, readContentEncoding } from "../streams/decompress.ts";
import { discard } from "../streams/discard.ts";
import { brokenUpstream } from "./failure.ts";

/**
 * An upstream's answer without its content encoding. Some compress although they are asked not to, and the
 * caller need not understand what they chose. Where `fetch` has undone it already, as Deno 2.7 does unasked,
 * the header is gone too.
 *
 * @throws {GatewayError} `upstream` when the encoding is unknown; while reading, when the body does not keep
 * to it.
 */
export function undoEncoding(answer: Response): Response {
  const { body, status } = answer;
  const encoding = readContentEncoding(answer.headers.get("content-encoding"));
  if (body === null || encoding === "identity") return answer;
  if (encoding === undefined) {
    discard(answer);
    throw brokenUpstream(UNREADABLE);
  }
  const headers = new Headers(answer.headers);
  headers.delete("content-encoding");
  headers.delete("content-length");
  const mismatch = (cause: unknown) => brokenUpstream(UNREADABLE, cause);
  const plain = ReadableStream.from(decompress(body, encoding, { mismatch }));
  return new Response(plain, { status, headers });
}

const UNREADABLE = "it is compressed in a way that cannot be undone";
