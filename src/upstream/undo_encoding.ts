import type { HeaderFields } from "../core/header_fields.ts";
import { decompress, readContentEncoding } from "../streams/decompress.ts";
import { discard } from "../streams/discard.ts";
import type { UpstreamAnswer } from "./answer.ts";
import { brokenUpstream } from "./failure.ts";

/**
 * An upstream's answer without its content encoding. Some compress although they are asked not to, and the
 * caller need not understand what they chose. Where `fetch` has undone it already, as Deno 2.7 does unasked,
 * the header is gone too.
 *
 * @throws {GatewayError} `upstream` when the encoding is unknown; while reading, when the body does not keep
 * to it.
 */
export function undoEncoding(answer: UpstreamAnswer): UpstreamAnswer {
  const { body, headers } = answer;
  const encoding = readContentEncoding(headers.get("content-encoding"));
  if (body === null || encoding === "identity") return answer;
  if (encoding === undefined) {
    discard(answer);
    throw brokenUpstream(UNREADABLE);
  }
  const mismatch = (cause: unknown) => brokenUpstream(UNREADABLE, cause);
  return {
    ...answer,
    body: decompress(body, encoding, { mismatch }),
    headers: withoutEncoding(headers),
  };
}

function withoutEncoding(headers: HeaderFields): HeaderFields {
  const left = new Map<string, string>();
  headers.forEach((value, name) => left.set(name, value));
  left.delete("content-encoding");
  left.delete("content-length");
  return left;
}

const UNREADABLE = "it is compressed in a way that cannot be undone";
