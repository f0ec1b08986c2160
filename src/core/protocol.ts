/**
 * Every wire protocol: Chat Completions, Messages and Responses. What differs between them stands in tables
 * that are a `Record` over {@linkcode Protocol}, so that the compiler names every table that lacks a new one.
 */
export const PROTOCOLS = ["chat", "messages", "responses"] as const;

/** One of {@linkcode PROTOCOLS} (docs/design.md#paths). The path of a request selects it. */
export type Protocol = typeof PROTOCOLS[number];

/** Whether a value from outside names a protocol. */
export function isProtocol(value: unknown): value is Protocol {
  return PROTOCOLS.some((protocol) => protocol === value);
}

/**
 * Every base URL that a connection may have. `completions` is the legacy text-completion interface of
 * family A; it is no protocol of its own, its errors have the Chat shape.
 */
export const ENDPOINTS = [...PROTOCOLS, "completions"] as const;

/** One of {@linkcode ENDPOINTS}. */
export type Endpoint = typeof ENDPOINTS[number];

/** What a model family is native to (docs/design.md#paths). */
export type Family = "A" | "B" | "C";

/** One operation that callers invoke and upstreams serve. */
export type Operation =
  | "chat_completions"
  | "completions"
  | "messages"
  | "count_tokens"
  | "responses"
  | "compact";

/** Where an operation lives at an upstream, and which protocol its bodies speak. */
export interface OperationShape {
  readonly endpoint: Endpoint;
  /** Appended to the connection's base URL of `endpoint`. */
  readonly path: string;
  readonly protocol: Protocol;
}

/** Every operation with its endpoint, upstream path and protocol (`endpoints` in docs/configuration.md). */
export const OPERATIONS: Readonly<Record<Operation, OperationShape>> = {
  chat_completions: {
    endpoint: "chat",
    path: "/chat/completions",
    protocol: "chat",
  },
  completions: {
    endpoint: "completions",
    path: "/completions",
    protocol: "chat",
  },
  messages: { endpoint: "messages", path: "/messages", protocol: "messages" },
  count_tokens: {
    endpoint: "messages",
    path: "/messages/count_tokens",
    protocol: "messages",
  },
  responses: {
    endpoint: "responses",
    path: "/responses",
    protocol: "responses",
  },
  compact: {
    endpoint: "responses",
    path: "/responses/compact",
    protocol: "responses",
  },
};

/** The operation of each protocol that asks a model. */
export const MAIN_OPERATIONS: Readonly<Record<Protocol, Operation>> = {
  chat: "chat_completions",
  messages: "messages",
  responses: "responses",
};
