import { Buffer } from "node:buffer";

/**
 * Bytes as a text with one character for each (ISO 8859-1), in which ASCII can be searched for: the engine searches
 * texts with instructions made for that, but a typed array byte by byte.
 */
export function byteText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

/** The bytes that {@linkcode byteText} makes this text of. */
export function bytesOf(byteText: string): Uint8Array {
  return Buffer.from(byteText, "latin1");
}

/** What bytes say in UTF-8 that are given as {@linkcode byteText} makes them. */
export function utf8InByteText(text: string): string {
  return NOT_ASCII_REGEXP.test(text)
    ? Buffer.from(text, "latin1").toString("utf8")
    : text;
}

const NOT_ASCII_REGEXP = /[\x80-\xff]/;
