/**
 * `deno task release`: writes a release to `dist/release/`. It has an executable for each system
 * whose base the compiler can download. It also has the JSON Schema of the configuration, a manual,
 * shell completions, a bill of materials, the provenance, and the checksums of all files. The key
 * that `RELEASE_SIGNING_KEY` names signs the checksums.
 */
import { pathToFileURL } from "node:url";
import { VERSION } from "../src/base/version.ts";
import { releaseDocuments } from "./documents.ts";
import {
  compileExecutable,
  releaseDenoError,
  type Target,
  TARGETS,
} from "./executable.ts";
import { KEY_VARIABLE, sealRelease } from "./seal.ts";

const FOLDER = "dist/release";

const ROOT = new URL("../", import.meta.url);

/** Compiles for each target, and prints each result. */
async function writeExecutables(): Promise<boolean> {
  const outcomes: string[] = [];
  for (const target of TARGETS) {
    const output = `${FOLDER}/${executableName(target)}`;
    const { outcome, report } = await compileExecutable({
      target: target.triple,
      output,
    });
    outcomes.push(outcome);
    if (outcome === "made") console.error(`Compiled ${output}`);
    else if (outcome !== "no base") {
      console.error(`Cannot compile ${output}: ${report}`);
    } else {
      console.error(
        `Cannot compile ${output}: its base cannot be downloaded from dl.deno.land.`,
      );
    }
  }
  return outcomes.includes("made") &&
    !outcomes.some((outcome) => /failed|does not run/.test(outcome));
}

function executableName({ name }: Target): string {
  const ending = name.startsWith("windows") ? ".exe" : "";
  return `model-gateway-${VERSION}-${name}${ending}`;
}

const denoError = releaseDenoError(Deno.version.deno);
if (denoError !== undefined) {
  console.error(denoError);
  Deno.exit(1);
}

const folder = new URL(`${FOLDER}/`, ROOT);
await Deno.remove(folder, { recursive: true }).catch(() => {});
await Deno.mkdir(folder, { recursive: true });
for (const [name, text] of await releaseDocuments()) {
  await Deno.writeTextFile(new URL(name, folder), text);
}
const isWhole = await writeExecutables();
const base = Deno.env.get("DENORT_BIN");
const sealed = await sealRelease({
  folder,
  key: Deno.env.get(KEY_VARIABLE),
  base: base === undefined ? undefined : pathToFileURL(base),
});
console.error(sealed);
console.error(`The release is in ${FOLDER}/.`);
if (!isWhole) Deno.exit(1);
