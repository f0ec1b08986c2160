import { VERSION } from "../src/base/version.ts";
import { releaseDocuments } from "./documents.ts";
import { type Compiled, type Target, TARGETS } from "./executable.ts";
import { sealRelease } from "./seal.ts";

/** The makers of what a release needs from outside, and its folder. */
export interface ReleaseParts {
  /** An empty folder, which gets every file. */
  readonly folder: URL;
  /** Compiles the executable of a target to a file of the folder. */
  readonly compile: (target: Target, name: string) => Promise<Compiled>;
  /** The path of a private key of SSH; without one, nothing is signed. */
  readonly key: string | undefined;
  /** The path of the compiler's base, when a file of this machine is the base. */
  readonly base: URL | undefined;
  /** Reports a step to people. */
  readonly report: (line: string) => void;
}

/**
 * Writes a release: its documents, an executable for each target whose base is there, the provenance, the checksums and
 * their signature.
 *
 * @returns False when no executable was made, or one failed.
 * @throws {Error} When the key cannot sign.
 */
export async function writeRelease(parts: ReleaseParts): Promise<boolean> {
  const { folder, key, base, report } = parts;
  for (const [name, text] of await releaseDocuments()) {
    await Deno.writeTextFile(new URL(name, folder), text);
  }
  const isWhole = await writeExecutables(parts);
  report(await sealRelease({ folder, key, base }));
  return isWhole;
}

/** Compiles for each target, and reports each result. */
async function writeExecutables(
  { compile, report }: ReleaseParts,
): Promise<boolean> {
  const outcomes: string[] = [];
  for (const target of TARGETS) {
    const output = executableName(target);
    const { outcome, report: reason } = await compile(target, output);
    outcomes.push(outcome);
    if (outcome === "made") report(`Compiled ${output}`);
    else if (outcome !== "no base") {
      report(`Cannot compile ${output}: ${reason}`);
    } else {
      report(
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
