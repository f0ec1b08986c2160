/** A file of a release and its digest. */
export interface FileDigest {
  readonly name: string;
  /** The SHA-256 in hexadecimal digits. */
  readonly sha256: string;
}

/** Returns the digest of every file of a folder, sorted by name. */
export async function fileDigests(folder: URL): Promise<readonly FileDigest[]> {
  const names = (await Array.fromAsync(Deno.readDir(folder)))
    .map(({ name }) => name).sort();
  return await Promise.all(names.map(async (name) => ({
    name,
    sha256: await sha256Of(new URL(name, folder)),
  })));
}

/** Returns the SHA-256 of a file in hexadecimal digits. */
export async function sha256Of(file: URL): Promise<string> {
  const bytes = await Deno.readFile(file);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toHex();
}

/**
 * Returns the SHA-256 of every file of a folder, one line each, sorted, in the format of
 * `sha256sum --check`.
 */
export async function checksums(folder: URL): Promise<string> {
  return (await fileDigests(folder))
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");
}
