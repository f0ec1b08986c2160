import type { Connection } from "../config/config.ts";
import { secretTexts } from "../config/credential.ts";
import { oncePer } from "@gateway/base/memo";
import type { Failure } from "@gateway/codecs";
import {
  createByteMask,
  maskBytes,
  maskReads,
  prepareMaskedText,
} from "@gateway/base/streams/byte_mask";
import type { ReadChange } from "@gateway/base/streams/byte_reader";
import { CREDENTIALS, nameMatcher } from "./header_names.ts";

/** The texts that a connection sends to its upstream and that nobody else may see. */
export interface Secrets {
  /**
   * Returns true when a text contains a secret or a secret's distinctive beginning, whether plain, escaped or in
   * base64.
   */
  areIn(text: string): boolean;
  /** Returns a copy of a failure without any secret. */
  leaveOut(failure: Failure): Failure;
  /** Masks each secret in bytes. */
  coverIn(bytes: Uint8Array): void;
  /** Returns a change that masks each secret in the reads of one body. */
  coverReads(): ReadChange;
}

/** The length of the shortest secret that is searched for. A shorter text, such as `test`, may be an ordinary word. */
const MIN_LENGTH = 8;

/** The length of a secret's distinctive beginning. It is longer than the prefix that all keys of a provider share. */
const DISTINCTIVE_LENGTH = 16;

/**
 * Returns the keys of a connection and the values of its fixed headers that are credentials. Includes the secrets
 * before the connection's last change, because a provider may still name the old key afterwards.
 */
export const secretsOf: (connection: Connection) => Secrets = oncePer(
  (connection) => {
    const texts = textsOf(connection);
    const [last = texts, before = texts] = textsById.get(connection.id) ?? [];
    const former = last.join() === texts.join() ? before : last;
    textsById.set(connection.id, [texts, former]);
    return createSecrets([...new Set([...texts, ...former])]);
  },
);

/** By the connection's id: the current secrets, then the secrets before the last change. */
const textsById = new Map<string, (readonly string[])[]>();

const isCredential = nameMatcher([CREDENTIALS]);

/** Names of custom headers that a service may use for a credential. */
const SECRET_NAME_REGEXP = /auth|credential|key|password|secret|token/;

function textsOf(
  { auth, headers, otherKeys = [] }: Connection,
): readonly string[] {
  const values = Object.entries(headers)
    .filter(([name]) => isCredential(name) || SECRET_NAME_REGEXP.test(name))
    .map(([, value]) => value.replace(/^(bearer|basic|token) +/i, ""));
  return [...new Set([...secretTexts(auth), ...otherKeys, ...values])]
    .filter((text) => text.length >= MIN_LENGTH);
}

/** Creates functions that find and mask the given secrets. */
function createSecrets(texts: readonly string[]): Secrets {
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
    coverReads() {
      const masks = masked.map((text) => maskReads(createByteMask(text)));
      return (read) => masks.reduce((one, mask) => mask(one), read);
    },
  };
}

function withoutWords({ status }: Failure): string {
  return status === undefined
    ? "The provider reported an error"
    : `The provider answered with status ${status}`;
}

/** Returns the texts that reveal a secret: its beginning, plain and in base64 at each byte offset. */
function revealingParts(secret: string): readonly string[] {
  const beginning = secret.slice(0, DISTINCTIVE_LENGTH);
  const encoded = [0, 1, 2].map((before) => {
    const text = btoa(`${" ".repeat(before)}${beginning}`).replaceAll("=", "");
    // The first and the last character may also encode neighbouring bytes.
    return text.slice(before === 0 ? 0 : before + 1, -1);
  });
  return [beginning, ...encoded];
}

const ESCAPE_REGEXP = /[\\%]/;

/** Decodes the escapes of JSON strings and of URLs. */
function unescape(text: string): string {
  return text
    .replace(
      /\\u([0-9a-f]{4})|%([0-9a-f]{2})/gi,
      (_, unit = "", byte = "") =>
        String.fromCharCode(parseInt(unit + byte, 16)),
    )
    .replace(/\\(.)/g, "$1");
}
