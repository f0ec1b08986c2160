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
