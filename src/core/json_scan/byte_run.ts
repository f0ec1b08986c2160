/** A run of bytes: from `start` up to, not including, `end`. */
export interface ByteRun {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}
