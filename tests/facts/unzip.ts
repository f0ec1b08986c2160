const DIRECTORY_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const STORED = 0;

/**
 * Returns one file of a ZIP archive.
 *
 * @throws {Error} When the archive has no such file, or is broken.
 */
export async function unzipEntry(
  archive: Uint8Array<ArrayBuffer>,
  name: string,
): Promise<Uint8Array> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.length);
  let end = archive.length - END_BYTES;
  while (end >= 0 && view.getUint32(end, true) !== END_SIGNATURE) end--;
  if (end < 0) throw new Error("the archive has no directory");
  let at = view.getUint32(end + 16, true);
  while (at < end && view.getUint32(at, true) === DIRECTORY_SIGNATURE) {
    const nameLength = view.getUint16(at + 28, true);
    const entry = new TextDecoder().decode(
      archive.subarray(at + 46, at + 46 + nameLength),
    );
    if (entry === name) {
      const start = view.getUint32(at + 42, true);
      const from = start + 30 + view.getUint16(start + 26, true) +
        view.getUint16(start + 28, true);
      const bytes = archive.subarray(
        from,
        from + view.getUint32(at + 20, true),
      );
      if (view.getUint16(at + 10, true) === STORED) return bytes;
      const inflated = new Blob([bytes]).stream()
        .pipeThrough(new DecompressionStream("deflate-raw"));
      return new Uint8Array(await new Response(inflated).arrayBuffer());
    }
    at += 46 + nameLength + view.getUint16(at + 30, true) +
      view.getUint16(at + 32, true);
  }
  throw new Error(`the archive has no ${name}`);
}
