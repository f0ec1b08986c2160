import { createHash } from "node:crypto";
import type { HeaderFields } from "../../core/header_fields.ts";
import { type Operation, OPERATIONS } from "../../core/protocol.ts";
import type { ByteSpan } from "../../json_scan/key.ts";
import { JsonObjectScan } from "../../json_scan/scan.ts";
import { JsonScanError } from "../../json_scan/scan_error.ts";
import { JsonWalker } from "../../json_scan/walker.ts";
import type { ClientIds } from "../../observe/facts.ts";
import type { Exchange } from "../exchange.ts";
import { bodyPart, bodyPieces, type HeldBody } from "./held_body.ts";

/**
 * The headers in which clients name their session. The first one that is present counts.
 *
 * - Claude Code: `x-claude-code-session-id` (code.claude.com/docs/en/llm-gateway-protocol)
 * - Codex 0.169: `session-id`; older versions `session_id` (codex-rs/codex-api/src/requests/headers.rs of
 *   openai/codex), and before that `conversation_id` too
 * - opencode 1.18: `x-session-affinity` and `x-session-id`, to its own service `x-opencode-session`; a subagent has its
 *   own session, and names its parent's in `x-parent-session-id` (packages/opencode/src/session/llm/request.ts of
 *   anomalyco/opencode)
 */
const SESSION_HEADERS = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-parent-session-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-session-id",
  "conversation_id",
] as const;

/** The length of the conversation's beginning that identifies it, in bytes. */
const MAX_OPENING_BYTES = 64 * 1024;

/** A request that may hold a conversation. */
export interface ConversationSource {
  readonly operation: Operation;
  /** The body, which is a JSON object. */
  readonly body: HeldBody;
}

/**
 * Returns an id of the conversation, the same for all its requests. It is a hash of the client's session id, or of the
 * beginning up to the user's first message. Two callers never share an id.
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

/** The scan prepares each list of keys only once. */
const KEYS_BY_FIELD: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(OPERATIONS).flatMap(({ conversationField: field }) =>
    field === undefined ? [] : [[field, [field]]]
  ),
);

const OPEN_BRACKET = 0x5b;

const USER_REGEXP = /"role"\s*:\s*"user"/;

/** Returns the end of the first item of the user; the length if that item is incomplete. */
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

/** The bytes before an item of an array. */
const SEPARATORS: ReadonlySet<number | undefined> = new Set(
  new TextEncoder().encode("[, \t\r\n"),
);

function skipSeparators(bytes: Uint8Array, start: number): number {
  let position = start;
  while (SEPARATORS.has(bytes[position])) position++;
  return position;
}

/** Returns the length of the object at the start of `bytes`; `undefined` when it is incomplete. */
function objectLength(bytes: Uint8Array): number | undefined {
  const walker = new JsonWalker();
  walker.feed(bytes);
  for (;;) {
    const event = walker.next();
    if (event === undefined) return undefined;
    if (event === "object_ends") return walker.at;
  }
}

/** The maximum length of an id, in characters: a UUID has 36, those of known clients at most 60. */
const MAX_ID_LENGTH = 128;

/** The headers in which clients name an agent other than the session's first: see {@linkcode SESSION_HEADERS}. */
const AGENT_HEADERS = [
  "x-claude-code-agent-id",
  "thread-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-session-id",
];

/** The headers in which clients, or a proxy in front of the gateway, name the request. */
const REQUEST_HEADERS = [
  "x-client-request-id",
  "x-opencode-request",
  "x-request-id",
];

/**
 * Returns the client's ids of its session, its agent and its request, cut to 128 characters and without control
 * characters. An agent's id that equals the session's is left out.
 *
 * @returns `undefined` when the client sends no id.
 */
export function readClientIds(headers: HeaderFields): ClientIds | undefined {
  const session = firstOf(SESSION_HEADERS, headers);
  const agent = firstOf(AGENT_HEADERS, headers);
  const requestId = firstOf(REQUEST_HEADERS, headers);
  if ((session ?? agent ?? requestId) === undefined) return undefined;
  return {
    ...(session !== undefined && { session }),
    ...(agent !== undefined && agent !== session && { agent }),
    ...(requestId !== undefined && { requestId }),
  };
}

function firstOf(
  names: readonly string[],
  headers: HeaderFields,
): string | undefined {
  for (const name of names) {
    const value = headers.get(name);
    const id = value ? cleaned(value) : "";
    if (id !== "") return id;
  }
  return undefined;
}

/** Cleans the value of a header. A byte beyond ASCII is one character, because headers hold bytes. */
function cleaned(value: string): string {
  return value.replaceAll(CONTROL_REGEXP, "").trim().slice(0, MAX_ID_LENGTH);
}

const CONTROL_REGEXP = /\p{Cc}/gu;
