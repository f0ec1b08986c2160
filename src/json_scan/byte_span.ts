/** Where a run of bytes lies: from `start` up to, not including, `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A run of bytes, with those around it. */
export interface ByteRun extends ByteSpan {
  readonly bytes: Uint8Array;
}
