import type { Connection } from "../config/config.ts";
import { oncePer } from "../core/memo.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import {
  createByteMask,
  maskBytes,
  maskReader,
  prepareMaskedText,
} from "../streams/byte_mask.ts";
import type { ByteReader } from "../streams/byte_reader.ts";
import { CREDENTIALS, nameMatcher } from "./header_names.ts";

/** What a connection shows its upstream, and nobody else may see. */
export interface Secrets {
  /** Whether one of them stands in a text: plain, escaped, in base64, or its telling beginning. */
  areIn(text: string): boolean;
  /** A failure that repeats none of them. */
  leaveOut(failure: Failure): Failure;
  /** Covers each of them in bytes. */
  coverIn(bytes: Uint8Array): void;
  /** A reader of the same bytes with each of them covered. */
  cover(reader: ByteReader): ByteReader;
}

/** A shorter text, such as `test`, is a word like others, and not looked for. */
const MIN_LENGTH = 8;

/** So much of a key's beginning is more than the prefix that all keys of a provider share. */
const TELLING_LENGTH = 16;

/** The key of a connection, and the values of its fixed headers that are credentials. */
export const secretsOf: (connection: Connection) => Secrets = oncePer(
  (connection) => createSecrets(textsOf(connection)),
);

const isCredential = nameMatcher([CREDENTIALS]);

/** Names of headers that a service of its own may give a credential. */
const SECRET_NAME_REGEXP = /auth|credential|key|password|secret|token/;

function textsOf({ auth, headers }: Connection): readonly string[] {
  const values = Object.entries(headers)
    .filter(([name]) => isCredential(name) || SECRET_NAME_REGEXP.test(name))
    .map(([, value]) => value.replace(/^(bearer|basic|token) +/i, ""));
  const key = auth.scheme === "none" ? [] : [auth.key];
  return [...new Set([...key, ...values])]
    .filter((text) => text.length >= MIN_LENGTH);
}

/** Texts that must not be seen, and ways to see to it. */
export function createSecrets(texts: readonly string[]): Secrets {
  const patterns = texts.flatMap(revealingParts);
  const masked = texts.map(prepareMaskedText);

  const shortest = Math.min(...patterns.map((pattern) => pattern.length));
  const plain = new RegExp(patterns.map(RegExp.escape).join("|"));
  const areIn = (text: string) =>
    text.length >= shortest &&
    (plain.test(text) ||
      ESCAPE_REGEXP.test(text) && plain.test(unescape(text)));
  const without = (text: string | undefined) =>
    text !== undefined && areIn(text) ? undefined : text;

  return {
    areIn,
    leaveOut: (failure) => ({
      ...failure,
      message: without(failure.message) ?? withoutWords(failure),
      type: failure.type && areIn(String(failure.type.value))
        ? undefined
        : failure.type,
      code: without(failure.code),
      param: without(failure.param),
    }),
    coverIn(bytes) {
      for (const text of masked) maskBytes(bytes, text);
    },
    cover: (reader) => masked.map(createByteMask).reduce(maskReader, reader),
  };
}

function withoutWords({ status }: Failure): string {
  return status === undefined
    ? "The provider reported an error"
    : `The provider answered with status ${status}`;
}

/** What gives a secret away: its beginning, and what base64 makes of it wherever it stands among other bytes. */
function revealingParts(secret: string): readonly string[] {
  const beginning = secret.slice(0, TELLING_LENGTH);
  const encoded = [0, 1, 2].map((before) => {
    const text = btoa(`${" ".repeat(before)}${beginning}`).replaceAll("=", "");
    // Where other bytes share a character with it, that one may be any.
    return text.slice(before === 0 ? 0 : before + 1, -1);
  });
  return [beginning, ...encoded];
}

const ESCAPE_REGEXP = /[\\%]/;

/** Undoes the escapes of JSON strings and of addresses. */
function unescape(text: string): string {
  return text
    .replace(
      /\\u([0-9a-f]{4})|%([0-9a-f]{2})/gi,
      (_, unit = "", byte = "") =>
        String.fromCharCode(parseInt(unit + byte, 16)),
    )
    .replace(/\\(.)/g, "$1");
}
