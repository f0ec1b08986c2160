/**
 * A wire protocol: Chat Completions, Messages or Responses (docs/design.md#paths). The path of a request
 * selects it.
 */
export type Protocol = "chat" | "messages" | "responses";

/**
 * A base URL that a connection may have. `completions` is the legacy text-completion interface of
 * family A; it is no protocol of its own, its errors have the Chat shape.
 */
export type Endpoint = Protocol | "completions";

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
