/**
 * `deno task release`: writes a release to `dist/release/`. It has an executable for each system
 * whose base the compiler can download. It also has the JSON Schema of the configuration, a manual,
 * shell completions, a bill of materials, and the checksums of all files.
 */
import { VERSION } from "../src/core/version.ts";
import { checksums } from "./checksums.ts";
import { releaseDocuments } from "./documents.ts";
import {
  compileExecutable,
  releaseDenoError,
  type Target,
  TARGETS,
} from "./executable.ts";

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
    else if (outcome === "failed") {
      console.error(`Cannot compile ${output}: ${report}`);
    } else {
      console.error(
        `Cannot compile ${output}: its base cannot be downloaded from dl.deno.land.`,
      );
    }
  }
  return outcomes.includes("made") && !outcomes.includes("failed");
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
await Deno.writeTextFile(
  new URL("SHA256SUMS", folder),
  await checksums(folder),
);
console.error(`The release is in ${FOLDER}/.`);
if (!isWhole) Deno.exit(1);
