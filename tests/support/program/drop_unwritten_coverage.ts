/**
 * Removes the empty files of a coverage run. A program that a test kills during the write leaves one, and `deno
 * coverage` then reads none of the others.
 */
const folder = new URL("../../../coverage/", import.meta.url);
for await (const { name, isFile } of Deno.readDir(folder)) {
  const file = new URL(name, folder);
  if (isFile && (await Deno.stat(file)).size === 0) await Deno.remove(file);
}
