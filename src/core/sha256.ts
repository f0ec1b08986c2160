import { createHash } from "node:crypto";

/** The SHA-256 of the UTF-8 bytes of `text`: 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
