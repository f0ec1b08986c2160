import { type Compression, createInflater, type Inflater } from "./inflater.ts";
import { joinBytes } from "./join_bytes.ts";

/** What the formats that a log is packed in begin with: RFC 1952 and RFC 8878. */
const BEGINNINGS: readonly (readonly [Compression, readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
];

/** How many bytes tell them apart. */
const BEGINNING_LENGTH = 4;

/**
 * The bytes of a file as they were before it was packed by gzip or zstd, which its first bytes tell; of any other file
 * its own.
 *
 * @param pieces The file, cut anywhere.
 * @throws What `pieces` throws, and an error for packed bytes that are damaged or end too early.
 */
export async function* unpack(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const whole = joinBeginning(pieces);
  let inflater: Inflater | undefined;
  try {
    const { value: first } = await whole.next();
    const compression = first && compressionOf(first);
    if (first === undefined) return;
    if (compression === undefined) {
      yield first;
      yield* whole;
      return;
    }
    inflater = createInflater(compression);
    yield* inflater.push(first);
    for await (const piece of whole) yield* inflater.push(piece);
    yield* inflater.end();
  } finally {
    inflater?.destroy();
    await whole.return();
  }
}

/** The same bytes, with enough of them in the first piece. */
async function* joinBeginning(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let beginning = new Uint8Array();
  for await (const piece of pieces) {
    if (beginning.length >= BEGINNING_LENGTH) {
      yield piece;
      continue;
    }
    beginning = joinBytes([beginning, piece]);
    if (beginning.length >= BEGINNING_LENGTH) yield beginning;
  }
  if (beginning.length > 0 && beginning.length < BEGINNING_LENGTH) {
    yield beginning;
  }
}

function compressionOf(first: Uint8Array): Compression | undefined {
  return BEGINNINGS.find(([, bytes]) =>
    bytes.every((byte, index) => first[index] === byte)
  )?.[0];
}
