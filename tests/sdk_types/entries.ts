import type { Protocol } from "../../src/base/protocol.ts";

/** A package whose types the list follows. */
export type Sdk = "openai" | "@anthropic-ai/sdk";

/** A type at which a walk begins. */
export interface Entry {
  readonly sdk: Sdk;
  readonly protocol: Protocol;
  /** A request, a whole answer, or an event of a stream. */
  readonly side: "request" | "answer" | "event";
  /** The file of the declaration, below the folder of the package. */
  readonly file: string;
  readonly type: string;
  /** Fields whose inner fields the list already has, under another side of the protocol. */
  readonly closed: readonly string[];
}

const CHAT = "resources/chat/completions/completions.d.ts";
const RESPONSES = "resources/responses/responses.d.ts";
const MESSAGES = "resources/messages/messages.d.ts";
const BETA_MESSAGES = "resources/beta/messages/messages.d.ts";

/** The fields of its request that an answer of Responses repeats. */
const ECHOED = [
  "instructions",
  "tools",
  "tool_choice",
  "prompt",
  "reasoning",
  "text",
  "conversation",
];

/** Every type that a codec reads. */
export const ENTRIES: readonly Entry[] = [
  openai("chat", "request", CHAT, "ChatCompletionCreateParamsBase"),
  openai("chat", "answer", CHAT, "ChatCompletion"),
  openai("chat", "event", CHAT, "ChatCompletionChunk"),
  openai("responses", "request", RESPONSES, "ResponseCreateParamsBase"),
  openai("responses", "answer", RESPONSES, "Response", ECHOED),
  openai("responses", "event", RESPONSES, "ResponseStreamEvent", [
    "response",
    "item",
    "part",
  ]),
  ...anthropic("request", [
    [MESSAGES, "MessageCreateParamsBase"],
    [BETA_MESSAGES, "MessageCreateParamsBase"],
  ]),
  ...anthropic("answer", [
    [MESSAGES, "Message"],
    [BETA_MESSAGES, "BetaMessage"],
  ], ["definition"]),
  ...anthropic("event", [
    [MESSAGES, "RawMessageStreamEvent"],
    [BETA_MESSAGES, "BetaRawMessageStreamEvent"],
  ], ["message", "content_block"]),
];

function openai(
  protocol: Protocol,
  side: Entry["side"],
  file: string,
  type: string,
  closed: readonly string[] = [],
): Entry {
  return { sdk: "openai", protocol, side, file, type, closed };
}

function anthropic(
  side: Entry["side"],
  types: readonly (readonly [file: string, type: string])[],
  closed: readonly string[] = [],
): Entry[] {
  return types.map(([file, type]) => ({
    sdk: "@anthropic-ai/sdk",
    protocol: "messages",
    side,
    file,
    type,
    closed,
  }));
}
