import { createHash } from "node:crypto";
import type { HeaderFields } from "@gateway/base/header_fields";
import { memoized } from "@gateway/base/memo";
import { type Operation, OPERATIONS } from "@gateway/base/protocol";
import { digestOf } from "@gateway/base/sha256";
import {
  type ByteSpan,
  JsonObjectScan,
  JsonScanError,
  JsonWalker,
} from "@gateway/json_scan";
import type { ClientIds } from "../../observe/facts.ts";
import type { Exchange } from "../exchange.ts";
import { bodyChunks, bodyPart, type HeldBody } from "./held_body.ts";

/**
 * The headers in which clients name their session. The first header that is present counts.
 *
 * - Claude Code: `x-claude-code-session-id` (code.claude.com/docs/en/llm-gateway-protocol)
 * - Codex 0.169: `session-id`, which its subagents share; older versions `session_id`, with the parent of a subagent in
 *   `x-codex-parent-thread-id` (codex-rs/codex-api/src/requests/headers.rs and codex-rs/core/src/client.rs of
 *   openai/codex), and before that `conversation_id` too
 * - opencode 1.18: `x-session-affinity` and `x-session-id`, to its own service `x-opencode-session`; a subagent has its
 *   own session, and names its parent's in `x-parent-session-id` (packages/opencode/src/session/llm/request.ts of
 *   anomalyco/opencode)
 */
const SESSION_HEADERS = [
  "x-claude-code-session-id",
  "session-id",
  "x-codex-parent-thread-id",
  "session_id",
  "x-parent-session-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-session-id",
  "conversation_id",
] as const;

/** The longest beginning by which a conversation is identified, in bytes. */
const MAX_OPENING_BYTES = 64 * 1024;

/** A request that may hold a conversation. */
export interface ConversationSource {
  readonly operation: Operation;
  /** The body. It is a JSON object. */
  readonly body: HeldBody;
}

/**
 * Returns the id of the conversation that a client names by its session. The id is the same for all requests of the
 * session, on all replicas. Two callers never share an id.
 *
 * @returns `undefined` when the client names no session.
 */
export function namedConversation(
  { caller, record }: Pick<Exchange, "caller" | "record">,
): string | undefined {
  const session = record.facts.client?.session;
  return session &&
    `${NAMED}${ownerId(caller.sha256)}${
      sessionId(`${caller.sha256} ${session}`)
    }`;
}

/** Returns the digest of a session's name. Digests are remembered, because a look-up takes less time than a hash. */
const sessionId = memoized(digestOf, 10_000);

/** The length of the part of an id that names its caller, in characters. */
const OWNER_LENGTH = 16;

const ownerId = memoized(
  (sha256) => digestOf(sha256).slice(0, OWNER_LENGTH),
  10_000,
);

/** Returns the part of an id that is the same for all conversations of a caller. */
export function ownerOf(id: string): string {
  const start = isNamed(id) ? NAMED.length : 0;
  return id.slice(start, start + OWNER_LENGTH);
}

/** The prefix of the ids of conversations that clients name. */
const NAMED = "session ";

/** Returns true for the id of a conversation that its client names. */
export function isNamed(id: string): boolean {
  return id.startsWith(NAMED);
}

/** A conversation without a name. */
interface UnnamedConversation {
  /** A hash of the conversation's beginning, up to the user's first message. */
  readonly id: string;
  /** True when messages follow that beginning. */
  readonly isContinued: boolean;
}

/**
 * Finds the conversation in a body.
 *
 * @returns `undefined` when the body holds no conversation.
 */
export async function unnamedConversation(
  { caller }: Pick<Exchange, "caller">,
  source: ConversationSource,
): Promise<UnnamedConversation | undefined> {
  const opening = await openingOf(source);
  return opening && {
    id: ownerId(caller.sha256) +
      createHash("sha256").update(`${caller.sha256} `)
        .update(opening.bytes).digest("hex"),
    isContinued: opening.isContinued,
  };
}

interface Opening extends Pick<UnnamedConversation, "isContinued"> {
  readonly bytes: Uint8Array;
}

async function openingOf(
  { body, operation }: ConversationSource,
): Promise<Opening | undefined> {
  const { conversationField } = OPERATIONS[operation];
  if (conversationField === undefined) return undefined;
  const span = await spanOf(conversationField, body);
  if (span === undefined) return undefined;
  const { start } = span;
  const end = Math.min(span.end, start + MAX_OPENING_BYTES);
  const part = bodyPart(body, { start, end });
  const length = part[0] === OPEN_BRACKET ? endOfOpening(part) : part.length;
  return {
    bytes: part.subarray(0, length),
    isContinued: part[skipSeparators(part, length)] === OPEN_BRACE,
  };
}

async function spanOf(
  field: string,
  body: HeldBody,
): Promise<ByteSpan | undefined> {
  const scan = new JsonObjectScan(KEYS_BY_FIELD.get(field) ?? [field]);
  try {
    for await (const piece of bodyChunks(body)) scan.push(piece);
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

/** Returns the end of the user's first message; the length of `bytes` if that message is incomplete. */
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

/** The maximum length of an id, in characters. A UUID has 36 characters, the ids of known clients at most 60. */
const MAX_ID_LENGTH = 128;

/** The headers in which clients name an agent other than the session's first: see {@linkcode SESSION_HEADERS}. */
const AGENT_HEADERS = [
  "x-claude-code-agent-id",
  "thread-id",
  "session_id",
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
