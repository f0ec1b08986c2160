import { hash } from "node:crypto";

/** Returns the SHA-256 of the UTF-8 bytes of `text`, as 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

/** Returns 128 bits of the SHA-256 of `text` as 22 characters of base64url, enough to distinguish texts. */
export function shortDigest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22);
}

/** The number of hexadecimal digits that distinguish names: 128 bits. */
const DIGEST_DIGITS = 32;

/** Returns the digest that replicas share instead of a name. */
export function digestOf(name: string): string {
  return sha256Hex(name).slice(0, DIGEST_DIGITS);
}
