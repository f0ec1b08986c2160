/** Follows a zstd frame, to tell whether it is whole. */
export interface ZstdFrame {
  /** Sees the next bytes, compressed as they came. */
  push(bytes: Uint8Array): void;
  /** Whether exactly one frame has come, to its end. */
  readonly isWhole: boolean;
}

/** What a frame begins with, as a little-endian number (RFC 8878, section 3.1.1). */
const MAGIC = 0xfd2fb528;

/** The type of a block that is one byte, to be repeated. */
const REPEATED_BYTE = 1;

const CHECKSUM_BYTES = 4;

/** A part of the format, which may come in pieces, and what reads it and says what follows. */
interface Field {
  readonly bytes: number;
  readonly read: (field: Uint8Array) => Field;
}

/** What is no frame, or follows one, has no end. */
const NO_FRAME: Field = { bytes: 1, read: () => NO_FRAME };

/**
 * Reads the lengths of a frame's blocks and nothing else. `node:zlib` of Deno 2.9 tells no frame that broke off
 * from a whole one, and loses what stands in a second frame.
 */
export function createZstdFrame(): ZstdFrame {
  const held = new Uint8Array(4);
  let heldBytes = 0;
  let skipBytes = 0;
  let hasChecksum = false;

  const descriptor: Field = {
    bytes: 1,
    read([flags = 0]) {
      hasChecksum = (flags & 0b100) !== 0;
      skipBytes = restOfHeader(flags);
      return blockHeader;
    },
  };
  const blockHeader: Field = {
    bytes: 3,
    read(bytes) {
      const header = numberOf(bytes);
      const isRepeated = (header >>> 1 & 0b11) === REPEATED_BYTE;
      skipBytes = isRepeated ? 1 : header >>> 3;
      if ((header & 1) === 0) return blockHeader;
      if (hasChecksum) skipBytes += CHECKSUM_BYTES;
      return end;
    },
  };
  const end: Field = { bytes: 1, read: () => NO_FRAME };
  let field: Field = {
    bytes: 4,
    read: (bytes) => numberOf(bytes) === MAGIC ? descriptor : NO_FRAME,
  };

  function skip(bytes: Uint8Array): Uint8Array {
    const skipped = Math.min(skipBytes, bytes.length);
    skipBytes -= skipped;
    return bytes.subarray(skipped);
  }

  /** Returns what stands behind the field. */
  function take(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, field.bytes - heldBytes);
    held.set(part, heldBytes);
    heldBytes += part.length;
    if (heldBytes === field.bytes) {
      heldBytes = 0;
      field = field.read(held.subarray(0, field.bytes));
    }
    return bytes.subarray(part.length);
  }

  return {
    push(bytes) {
      let rest = skip(bytes);
      while (rest.length > 0) rest = skip(take(rest));
    },
    get isWhole() {
      return field === end && skipBytes === 0;
    },
  };
}

/** How many bytes of a frame's header follow its descriptor. */
function restOfHeader(flags: number): number {
  const isSingleSegment = (flags & 0b100000) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 0b11] ?? 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >>> 6] ?? 0;
  return (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
}

/** Little-endian. */
function numberOf(bytes: Uint8Array): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
}
