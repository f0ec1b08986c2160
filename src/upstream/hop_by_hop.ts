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

const NONE: ReadonlySet<string> = new Set();

/** The further names, in lower case, that a `Connection` header declares as hop-by-hop. */
export function namedByConnection(headers: Headers): ReadonlySet<string> {
  const value = headers.get("connection");
  if (value === null) return NONE;
  return new Set(value.toLowerCase().split(",").map((name) => name.trim()));
}
