/**
 * Removes the incomplete files of a coverage run. A program that a test kills during the write leaves one, and `deno
 * coverage` then reads none of the others.
 */
const folder = new URL("../../../coverage/", import.meta.url);
for await (const { name, isFile } of Deno.readDir(folder)) {
  const file = new URL(name, folder);
  if (isFile && !isJson(await Deno.readTextFile(file))) await Deno.remove(file);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
