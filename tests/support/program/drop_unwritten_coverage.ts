/**
 * Removes the files of a coverage run that were begun and never written: those of programs that a test ended by force
 * in the very moment in which they wrote. `deno coverage` reads none of the others beside one.
 */
const folder = new URL("../../../coverage/", import.meta.url);
for await (const { name, isFile } of Deno.readDir(folder)) {
  const file = new URL(name, folder);
  if (isFile && (await Deno.stat(file)).size === 0) await Deno.remove(file);
}
