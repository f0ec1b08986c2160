/** A byte stream in both directions, such as a TCP or TLS connection. */
export interface Duplex {
  /** Reads what is there into `into`; returns the number of bytes, or `null` at the end. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes the beginning of `bytes`; returns the number of bytes written. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends the direction of the writes, where the platform can. */
  closeWrite?(): Promise<void>;
  /** The address of the other end, where the platform names it. */
  readonly remoteAddr?: { readonly hostname: string } | undefined;
  /** Closes both directions. A read or write that waits fails. */
  close(): void;
}
