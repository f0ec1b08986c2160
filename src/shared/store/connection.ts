/** A connection to Valkey or Redis, which comes back by itself when it breaks. */
export interface StoreConnection {
  /**
   * Sends a command, after all that were sent before.
   *
   * @returns The reply, as RESP 2 has it: texts, whole numbers, lists of those, and null.
   * @throws {StoreError} When the store refuses it, or the connection is away.
   */
  send(command: readonly string[]): Promise<unknown>;
  /** Ends it for good. */
  close(): void;
}

/** Told what becomes of a connection. */
export interface StoreEvents {
  /** Commands can be sent, for the first time or again. */
  onReady(): void;
  /** It broke, or could not be made; told at every try. */
  onBroken(error: StoreError): void;
}

/** Begins to connect. */
export type OpenStore = (events: StoreEvents) => StoreConnection;

/** Why the store cannot be used. */
export type StoreFault =
  /** There is no connection. */
  | "unreachable"
  /** It does not take the credential, or does not allow the commands that are needed. */
  | "refused"
  /** It has no memory left. */
  | "full"
  /** It takes longer than a request may wait. */
  | "slow"
  /** Anything else that it answers instead. */
  | "failing";

/** The store did not do what it was told. Its message is for nobody: it may quote a command. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** The first word of what the store answered, such as `OOM`; empty when it answered nothing. */
  readonly code: string;

  constructor(code: string, options: ErrorOptions = {}) {
    super(code === "" ? "The store did not answer" : code, options);
    this.code = code;
  }

  get fault(): StoreFault {
    if (this.code === "") return "unreachable";
    return FAULT_BY_CODE.get(this.code) ?? "failing";
  }
}

/** The first words of errors: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const FAULT_BY_CODE: ReadonlyMap<string, StoreFault> = new Map([
  ["WRONGPASS", "refused"],
  ["NOAUTH", "refused"],
  ["NOPERM", "refused"],
  ["OOM", "full"],
]);
