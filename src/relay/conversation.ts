import { createHash } from "node:crypto";
import { type ByteSpan, scanJsonObject } from "../core/json_scan/scan.ts";
import { JsonScanError } from "../core/json_scan/scan_error.ts";
import { JsonWalker } from "../core/json_scan/walker.ts";
import type { Exchange } from "./exchange.ts";
import { bodyBytes, type HeldBody } from "./held_body.ts";

/** Where agents name the conversation: Claude Code, Codex (two spellings), opencode. */
const SESSION_HEADERS = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-affinity",
] as const;

/** Of what a conversation begins with, so much tells it from others, in bytes. */
const MAX_OPENING_BYTES = 64 * 1024;

/**
 * A name for the conversation that a request goes on with, the same for all its turns: what the agent calls
 * it, or else what it begins with, up to the first words of the user. It holds none of both, and no caller's is
 * another's.
 *
 * @param body A JSON object.
 * @returns `undefined` when the body holds no conversation.
 */
export async function conversationOf(
  { caller, request }: Pick<Exchange, "caller" | "request">,
  body: HeldBody,
): Promise<string | undefined> {
  const named = SESSION_HEADERS
    .map((name) => request.headers.get(name))
    .find((value) => value !== null && value !== "");
  const subject = named ?? openingOf(await bodyBytes(body));
  if (subject === undefined || subject === null) return undefined;
  return createHash("sha256").update(`${caller.sha256} `).update(subject)
    .digest("base64");
}

function openingOf(body: Uint8Array): Uint8Array | undefined {
  const span = messagesOf(body);
  if (span === undefined) return undefined;
  const end = body[span.start] === OPEN_BRACKET
    ? endOfOpening(body, span)
    : span.end;
  return body.subarray(
    span.start,
    Math.min(end, span.start + MAX_OPENING_BYTES),
  );
}

/** Of Chat and Messages, or of Responses. */
function messagesOf(body: Uint8Array): ByteSpan | undefined {
  try {
    const spans = scanJsonObject(body, ["messages", "input"]);
    return spans.get("messages") ?? spans.get("input");
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

const OPEN_BRACKET = 0x5b;

const USER_REGEXP = /"role"\s*:\s*"user"/;

/** Behind the first item that is the user's. */
function endOfOpening(bytes: Uint8Array, { start, end }: ByteSpan): number {
  const decoder = new TextDecoder();
  let position = start;
  while (position - start < MAX_OPENING_BYTES) {
    const item = skipSeparators(bytes, position);
    if (bytes[item] !== OPEN_BRACE) return position;
    position = item + objectLength(bytes.subarray(item, end));
    const text = decoder.decode(bytes.subarray(item, position));
    if (USER_REGEXP.test(text)) return position;
  }
  return position;
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

/** How long the object is that `bytes` begin with; what follows it does not count. */
function objectLength(bytes: Uint8Array): number {
  const walker = new JsonWalker();
  walker.feed(bytes);
  for (;;) {
    const event = walker.next();
    if (event === "object_ends" || event === undefined) return walker.at;
  }
}
