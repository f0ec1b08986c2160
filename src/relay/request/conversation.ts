import { createHash } from "node:crypto";
import { type Operation, OPERATIONS } from "../../core/protocol.ts";
import type { ByteSpan } from "../../json_scan/byte_span.ts";
import { JsonObjectScan } from "../../json_scan/scan.ts";
import { JsonScanError } from "../../json_scan/scan_error.ts";
import { JsonWalker } from "../../json_scan/walker.ts";
import type { Exchange } from "../exchange.ts";
import { bodyPart, bodyPieces, type HeldBody } from "./held_body.ts";

/** Where agents name the conversation: Claude Code, Codex (two spellings), opencode. */
const SESSION_HEADERS = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-affinity",
] as const;

/** Of what a conversation begins with, so much tells it from others, in bytes. */
const MAX_OPENING_BYTES = 64 * 1024;

/** Where a conversation may stand. */
export interface ConversationSource {
  readonly operation: Operation;
  /** A JSON object. */
  readonly body: HeldBody;
}

/**
 * A name for the conversation that a request goes on with, the same for all its turns: what the agent calls
 * it, or else what it begins with, up to the first words of the user. It holds none of both, and no caller's is
 * another's.
 *
 * @returns `undefined` when the body holds no conversation.
 */
export async function conversationOf(
  { caller, headers }: Pick<Exchange, "caller" | "headers">,
  source: ConversationSource,
): Promise<string | undefined> {
  const named = SESSION_HEADERS
    .map((name) => headers.get(name))
    .find((value) => value);
  const subject = named ?? await openingOf(source);
  if (subject === undefined) return undefined;
  return createHash("sha256").update(`${caller.sha256} `).update(subject)
    .digest("base64");
}

async function openingOf(
  { body, operation }: ConversationSource,
): Promise<Uint8Array | undefined> {
  const { conversationField } = OPERATIONS[operation];
  if (conversationField === undefined) return undefined;
  const span = await spanOf(conversationField, body);
  if (span === undefined) return undefined;
  const { start } = span;
  const end = Math.min(span.end, start + MAX_OPENING_BYTES);
  const opening = bodyPart(body, { start, end });
  return opening[0] === OPEN_BRACKET
    ? opening.subarray(0, endOfOpening(opening))
    : opening;
}

async function spanOf(
  field: string,
  body: HeldBody,
): Promise<ByteSpan | undefined> {
  const scan = new JsonObjectScan(KEYS_BY_FIELD.get(field) ?? [field]);
  try {
    for await (const piece of bodyPieces(body)) scan.push(piece);
    return scan.end().get(field)?.span;
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** A list of keys is made ready once. */
const KEYS_BY_FIELD: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(OPERATIONS).flatMap(({ conversationField: field }) =>
    field === undefined ? [] : [[field, [field]]]
  ),
);

const OPEN_BRACKET = 0x5b;

const USER_REGEXP = /"role"\s*:\s*"user"/;

/** Behind the first item that is the user's; the length where that is not there whole. */
function endOfOpening(bytes: Uint8Array): number {
  const decoder = new TextDecoder();
  let position = 0;
  for (;;) {
    const item = skipSeparators(bytes, position);
    if (bytes[item] !== OPEN_BRACE) return position;
    const length = objectLength(bytes.subarray(item));
    if (length === undefined) return bytes.length;
    position = item + length;
    const text = decoder.decode(bytes.subarray(item, position));
    if (USER_REGEXP.test(text)) return position;
  }
}

const OPEN_BRACE = 0x7b;

/** What stands before an item of an array. */
const SEPARATORS: ReadonlySet<number | undefined> = new Set(
  new TextEncoder().encode("[, \t\r\n"),
);

function skipSeparators(bytes: Uint8Array, start: number): number {
  let position = start;
  while (SEPARATORS.has(bytes[position])) position++;
  return position;
}

/** How long the object is that `bytes` begin with; `undefined` where it goes on behind them. */
function objectLength(bytes: Uint8Array): number | undefined {
  const walker = new JsonWalker();
  walker.feed(bytes);
  for (;;) {
    const event = walker.next();
    if (event === undefined) return undefined;
    if (event === "object_ends") return walker.at;
  }
}
