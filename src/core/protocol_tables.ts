/*
 * The tables that a wire protocol is added to first. Everything else that differs between protocols is a `Record`
 * over the names that stand here, so the compiler names every other table that lacks a new one.
 */

/**
 * Every base URL that a connection may have, with what people call what is spoken there. `completions` is the legacy
 * text-completion interface of family A; it is no protocol of its own, its errors have the Chat shape.
 */
export const ENDPOINT_NAMES = {
  chat: "Chat Completions",
  messages: "Messages",
  responses: "Responses",
  completions: "the legacy Completions",
} as const;

/** One of {@linkcode ENDPOINT_NAMES}. */
export type Endpoint = keyof typeof ENDPOINT_NAMES;

/** Every wire protocol, with its operation that asks a model. It is spoken at the endpoint of its own name. */
export const MAIN_OPERATIONS = {
  chat: "chat_completions",
  messages: "messages",
  responses: "responses",
} as const satisfies Readonly<Partial<Record<Endpoint, string>>>;

/** One of {@linkcode MAIN_OPERATIONS} (docs/design.md#paths). The path of a request selects it. */
export type Protocol = keyof typeof MAIN_OPERATIONS;

/** Where a request of every operation so far says what it asks for. */
const IN_BODY = {
  streamPath: undefined,
  modelField: "model",
  streamField: "stream",
} as const;

/** Every operation with its endpoint, path and protocol (`endpoints` in docs/configuration.md). */
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

/** One operation that callers invoke and upstreams serve. */
export type Operation = keyof typeof OPERATIONS;

/** Every model family with what it is native to (docs/design.md#paths). Counting and compaction are never guessed. */
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
 * One operation that callers invoke and upstreams serve: where it lives, which protocol its bodies speak, and where
 * a request says what it asks for.
 */
export interface OperationRow<
  Protocol extends string,
  Endpoint extends string,
> {
  /** The base URL of a connection that has it. */
  readonly endpoint: Endpoint;
  readonly protocol: Protocol;
  /** Behind the gateway's prefix and behind the base URL; `:model` stands where the path names the model. */
  readonly path: string;
  /** The same for a stream, where the path asks for it; `undefined` where the body does. */
  readonly streamPath: string | undefined;
  /** The field of the body that names the model; `undefined` where the path does. */
  readonly modelField: string | undefined;
  /** The field of the body that is true for a stream; `undefined` where no field is. */
  readonly streamField: string | undefined;
  /** The field of the body that holds the conversation; `undefined` where none does. */
  readonly conversationField: string | undefined;
  /** `gen_ai.operation.name` of OpenTelemetry; where the conventions know none, they leave it to the program. */
  readonly tracedAs: string;
}

/**
 * How a family's connections serve an operation:
 * - `native`: bytes pass, where the connection has the endpoint.
 * - `translated`: to the family's own protocol.
 * - `either`: native where the connection has the endpoint, else translated.
 * - `none`: the operation is refused.
 */
export type Serving = "native" | "translated" | "either" | "none";

/** A model family: what its connections speak, and what callers may ask of them. */
export interface FamilyRow<Protocol extends string, Operation extends string> {
  /** What every connection of the family speaks; what is translated, is translated to it. */
  readonly protocol: Protocol;
  readonly serves: Readonly<Record<Operation, Serving>>;
}
