/**
 * Returns the text of a request, with exactly these headers in this order and the body's length.
 */
export function rawRequest(
  path: string,
  headers: Iterable<readonly [name: string, value: string]>,
  body: string,
): string {
  const bytes = new TextEncoder().encode(body);
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}` +
    `content-length: ${bytes.length}\r\n\r\n${String.fromCharCode(...bytes)}`;
}
