import type { HeaderFields } from "../../core/header_fields.ts";
import type { ClientIds } from "../../observe/facts.ts";

/** How much of an id is kept, in characters: a UUID has 36, those of known clients at most 60. */
const MAX_LENGTH = 128;

/**
 * In which headers clients name the session. Those that stand earlier count first.
 *
 * - Claude Code: `x-claude-code-session-id` (code.claude.com/docs/en/llm-gateway-protocol)
 * - Codex 0.169: `session-id`; older versions `session_id` (codex-rs/codex-api/src/requests/headers.rs of
 *   openai/codex), and before that `conversation_id` too
 * - opencode 1.18: `x-session-affinity` and `x-session-id`, to its own service `x-opencode-session`; a subagent has a
 *   session of its own and names the one that it works for in `x-parent-session-id`
 */
const SESSION = [
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-parent-session-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-session-id",
  "conversation_id",
];

/** In which headers they name the agent that asks, where it is not the session's first: see {@linkcode SESSION}. */
const AGENT = [
  "x-claude-code-agent-id",
  "thread-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-session-id",
];

/** In which headers they, or a proxy in front of the gateway, name the request. */
const REQUEST = ["x-client-request-id", "x-opencode-request", "x-request-id"];

/**
 * What the client calls its session, its agent and its request, cut to 128 characters and without control
 * characters. An agent that is the session itself is none.
 *
 * @returns `undefined` where the client names nothing.
 */
export function readClientIds(headers: HeaderFields): ClientIds | undefined {
  const session = firstOf(SESSION, headers);
  const agent = firstOf(AGENT, headers);
  const requestId = firstOf(REQUEST, headers);
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

/** Headers hold bytes: what is beyond ASCII is told as it came, one character a byte. */
function cleaned(value: string): string {
  return value.replaceAll(CONTROL_REGEXP, "").trim().slice(0, MAX_LENGTH);
}

const CONTROL_REGEXP = /\p{Cc}/gu;
