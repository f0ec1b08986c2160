import { referencePages } from "./pages.ts";

// `deno task reference` writes the pages of docs/reference/ that the program's own tables make.

for (const [path, text] of await referencePages()) {
  await Deno.writeTextFile(new URL(`../../${path}`, import.meta.url), text);
  console.error(`Wrote ${path}`);
}
