/**
 * `deno task release`: writes a release to `dist/release/`. It has an executable for each system
 * whose base the compiler can download. It also has the JSON Schema of the configuration, a manual,
 * shell completions, a bill of materials, the provenance, and the checksums of all files. The key
 * that `RELEASE_SIGNING_KEY` names signs the checksums.
 */
import { pathToFileURL } from "node:url";
import { compileExecutable, releaseDenoError } from "./executable.ts";
import { writeRelease } from "./release.ts";
import { KEY_VARIABLE } from "./seal.ts";

const FOLDER = "dist/release";

const denoError = releaseDenoError(Deno.version.deno);
if (denoError !== undefined) {
  console.error(denoError);
  Deno.exit(1);
}

const folder = new URL(`../${FOLDER}/`, import.meta.url);
await Deno.remove(folder, { recursive: true }).catch(() => {});
await Deno.mkdir(folder, { recursive: true });
const base = Deno.env.get("DENORT_BIN");
const isWhole = await writeRelease({
  folder,
  compile: ({ triple }, name) =>
    compileExecutable({ target: triple, output: `${FOLDER}/${name}` }),
  key: Deno.env.get(KEY_VARIABLE),
  base: base === undefined ? undefined : pathToFileURL(base),
  report: (line) => console.error(line),
});
console.error(`The release is in ${FOLDER}/.`);
if (!isWhole) Deno.exit(1);
