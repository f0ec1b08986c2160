import { hash } from "node:crypto";

/** The SHA-256 of the UTF-8 bytes of `text`: 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}
