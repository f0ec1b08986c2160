import { createHash } from "node:crypto";
import { type ByteSpan, scanJsonObject } from "../core/json_scan/scan.ts";
import { JsonScanError } from "../core/json_scan/scan_error.ts";
import { createJsonText, skipSpace } from "../core/json_scan/text.ts";
import { skipValue } from "../core/json_scan/value.ts";
import type { Exchange } from "./exchange.ts";

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
export function conversationOf(
  { caller, request }: Pick<Exchange, "caller" | "request">,
  body: Uint8Array,
): string | undefined {
  const named = SESSION_HEADERS
    .map((name) => request.headers.get(name))
    .find((value) => value !== null && value !== "");
  const subject = named ?? openingOf(body);
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
const COMMA = 0x2c;

const USER_REGEXP = /"role"\s*:\s*"user"/;

/** Behind the first item that is the user's. */
function endOfOpening(bytes: Uint8Array, { start, end }: ByteSpan): number {
  const text = createJsonText(bytes);
  const decoder = new TextDecoder();
  let position = skipSpace(bytes, start + 1);
  while (position < end - 1 && position - start < MAX_OPENING_BYTES) {
    const behind = skipValue(text, position);
    const item = bytes.subarray(position, behind);
    if (USER_REGEXP.test(decoder.decode(item))) return behind;
    position = skipSpace(bytes, behind);
    if (bytes[position] !== COMMA) return behind;
    position = skipSpace(bytes, position + 1);
  }
  return position;
}
