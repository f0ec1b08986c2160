/**
 * Returns the bytes of a stream whose events have these JSON values as data; a string is used
 * unchanged.
 */
export function sseBytes(
  ...events: readonly unknown[]
): Uint8Array<ArrayBuffer> {
  const lines = events.map((event) =>
    `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`
  );
  return new TextEncoder().encode(lines.join(""));
}
