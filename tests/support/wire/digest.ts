/** The SHA-256 of some bytes, to compare bodies too long to show. */
export async function digest(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(hash).toHex();
}
