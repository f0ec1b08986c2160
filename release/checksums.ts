/**
 * Returns the SHA-256 of every file of a folder, one line each, sorted, in the format of
 * `sha256sum --check`.
 */
export async function checksums(folder: URL): Promise<string> {
  const names = (await Array.fromAsync(Deno.readDir(folder)))
    .map(({ name }) => name).sort();
  const lines = names.map(async (name) => {
    const bytes = await Deno.readFile(new URL(name, folder));
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    return `${new Uint8Array(digest).toHex()}  ${name}\n`;
  });
  return (await Promise.all(lines)).join("");
}
