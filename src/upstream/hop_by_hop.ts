import type { HeaderFields } from "../core/header_fields.ts";

/** Header names that belong to one connection and never cross a proxy (RFC 9110 section 7.6.1). */
export const HOP_BY_HOP: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const NONE: readonly string[] = [];

/** The further names, in lower case, that a `Connection` header declares as hop-by-hop. */
export function namedByConnection(headers: HeaderFields): readonly string[] {
  const value = headers.get("connection");
  return value
    ? value.toLowerCase().split(",").map((name) => name.trim())
    : NONE;
}
