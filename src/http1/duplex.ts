/** A byte stream in both directions, such as a TCP or TLS connection. */
export interface Duplex {
  /** Reads available bytes into `into`; returns their number, or `null` at the end. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes the beginning of `bytes`; returns the number of bytes written. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends the writes, if the platform can. */
  closeWrite?(): Promise<void>;
  /** The address of the other end, if the platform knows it. */
  readonly remoteAddr?: { readonly hostname: string } | undefined;
  /** Closes both directions. A read or write that waits fails. */
  close(): void;
}
