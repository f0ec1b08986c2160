/*
 * The first tables to extend for a new wire protocol. All other tables that differ by protocol are a `Record` over the
 * names in this file, so the compiler reports each table that lacks the new name.
 */

/**
 * Every base URL that a connection may have, with the display name of what the URL serves. `completions` is the legacy
 * text-completion interface of family A. `completions` is not a protocol, because its errors have the Chat shape.
 */
export const ENDPOINT_NAMES = {
  chat: "Chat Completions",
  messages: "Messages",
  responses: "Responses",
  completions: "the legacy Completions",
} as const;

/** One of {@linkcode ENDPOINT_NAMES}. */
export type Endpoint = keyof typeof ENDPOINT_NAMES;

/**
 * Every wire protocol, with its main operation. The main operation requests an answer. A protocol is served at the
 * endpoint of the same name.
 */
export const MAIN_OPERATIONS = {
  chat: "chat_completions",
  messages: "messages",
  responses: "responses",
} as const satisfies Readonly<Partial<Record<Endpoint, string>>>;

/** One of {@linkcode MAIN_OPERATIONS} (docs/design.md#paths). The path of a request selects the protocol. */
export type Protocol = keyof typeof MAIN_OPERATIONS;

/** The fields of a request that select the model and a stream; the same for all operations so far. */
const IN_BODY = {
  streamPath: undefined,
  modelField: "model",
  streamField: "stream",
} as const;

/** The endpoint, path and protocol of each operation (`endpoints` in docs/configuration.md). */
export const OPERATIONS = {
  chat_completions: {
    ...IN_BODY,
    endpoint: "chat",
    path: "/chat/completions",
    protocol: "chat",
    conversationField: "messages",
    tracedAs: "chat",
  },
  completions: {
    ...IN_BODY,
    endpoint: "completions",
    path: "/completions",
    protocol: "chat",
    conversationField: undefined,
    tracedAs: "text_completion",
  },
  messages: {
    ...IN_BODY,
    endpoint: "messages",
    path: "/messages",
    protocol: "messages",
    conversationField: "messages",
    tracedAs: "chat",
  },
  count_tokens: {
    ...IN_BODY,
    endpoint: "messages",
    path: "/messages/count_tokens",
    protocol: "messages",
    conversationField: "messages",
    tracedAs: "count_tokens",
  },
  responses: {
    ...IN_BODY,
    endpoint: "responses",
    path: "/responses",
    protocol: "responses",
    conversationField: "input",
    tracedAs: "chat",
  },
  compact: {
    ...IN_BODY,
    endpoint: "responses",
    path: "/responses/compact",
    protocol: "responses",
    conversationField: "input",
    tracedAs: "compact",
  },
} as const satisfies Readonly<Record<string, OperationRow<Protocol, Endpoint>>>;

/** An operation that callers invoke and upstreams serve. */
export type Operation = keyof typeof OPERATIONS;

/**
 * The protocol and operations of each model family (docs/design.md#paths). Counting and compaction are never guessed.
 */
export const FAMILIES = {
  A: {
    protocol: "chat",
    serves: {
      chat_completions: "native",
      completions: "either",
      messages: "either",
      count_tokens: "native",
      responses: "either",
      compact: "native",
    },
  },
  B: {
    protocol: "messages",
    serves: {
      chat_completions: "translated",
      completions: "none",
      messages: "native",
      count_tokens: "native",
      responses: "none",
      compact: "none",
    },
  },
  C: {
    protocol: "responses",
    serves: {
      chat_completions: "translated",
      completions: "none",
      messages: "none",
      count_tokens: "none",
      responses: "native",
      compact: "native",
    },
  },
} as const satisfies Readonly<Record<string, FamilyRow<Protocol, Operation>>>;

/** One of {@linkcode FAMILIES}. */
export type Family = keyof typeof FAMILIES;

/**
 * The properties of an operation: its path, the protocol of its bodies, and the fields that select the model and a
 * stream.
 */
export interface OperationRow<
  Protocol extends string,
  Endpoint extends string,
> {
  /** The endpoint of a connection that serves the operation. */
  readonly endpoint: Endpoint;
  readonly protocol: Protocol;
  /**
   * The path of the operation. It follows the gateway's prefix in a request to the gateway, and the base URL in a
   * request to an upstream. If the path contains `:model`, the model's name replaces `:model`.
   */
  readonly path: string;
  /** The path that requests a stream; `undefined` when the body requests streams. */
  readonly streamPath: string | undefined;
  /** The body field that names the model; `undefined` where the path names it. */
  readonly modelField: string | undefined;
  /** The body field that is true for a stream; `undefined` where there is none. */
  readonly streamField: string | undefined;
  /** The body field that holds the conversation; `undefined` where there is none. */
  readonly conversationField: string | undefined;
  /**
   * `gen_ai.operation.name` of OpenTelemetry. If the conventions define no name for an operation, the program may
   * choose one.
   */
  readonly tracedAs: string;
}

/**
 * How a family's connections serve an operation:
 * - `native`: bytes pass unchanged, if the connection has the endpoint.
 * - `translated`: the request is translated to the family's own protocol.
 * - `either`: native if the connection has the endpoint, else translated.
 * - `none`: the operation is rejected.
 */
export type ServingForm = "native" | "translated" | "either" | "none";

/** A model family: the protocol of its connections and the operations that callers may use. */
interface FamilyRow<Protocol extends string, Operation extends string> {
  /** The protocol of every connection of the family, and the target of translations. */
  readonly protocol: Protocol;
  readonly serves: Readonly<Record<Operation, ServingForm>>;
}
