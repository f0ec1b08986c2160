/** The SHA-256 of every file of a folder, a line each, sorted, as `sha256sum --check` reads them. */
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
