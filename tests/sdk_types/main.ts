/**
 * Compares the types of the newest official SDKs with `known.tsv`, and prints the fields that the list lacks. Needs the
 * npm registry. Exits with 1 when a field is new. With `--write`, it instead writes the list of the pinned SDKs and
 * keeps its reasons.
 */
import type { Sdk } from "./entries.ts";
import {
  formatKnown,
  KNOWN_FILE,
  needsReason,
  parseKnown,
  verdictOf,
} from "./known_list.ts";
import { PINNED_FOLDERS } from "./pinned.ts";
import { readTypes } from "./read_types.ts";

if (Deno.args.includes("--write")) await writeList();
else Deno.exit(await compareNewest() ? 0 : 1);

async function writeList(): Promise<void> {
  const text = await Deno.readTextFile(KNOWN_FILE);
  const known = parseKnown(text);
  const fields = [...readTypes(PINNED_FOLDERS).values()].map((field) => {
    const verdict = verdictOf(field);
    const reason = needsReason(verdict)
      ? known.get(field.path)?.reason ?? ""
      : "";
    return { path: field.path, verdict, reason };
  });
  await Deno.writeTextFile(KNOWN_FILE, formatKnown(fields, text));
  for (const { path, verdict, reason } of fields) {
    if (needsReason(verdict) && reason === "") {
      console.error(`needs a reason: ${path}\t${verdict}`);
    }
  }
}

/** Returns true when the list has every field. */
async function compareNewest(): Promise<boolean> {
  const folder = await Deno.makeTempDir();
  try {
    const known = parseKnown(await Deno.readTextFile(KNOWN_FILE));
    const fields = readTypes({
      "openai": await install("openai", folder),
      "@anthropic-ai/sdk": await install("@anthropic-ai/sdk", folder),
    });
    const added = [...fields.values()].filter(({ path }) => !known.has(path));
    for (const field of added) {
      console.log(`new: ${field.path}\t${verdictOf(field)}`);
    }
    for (const path of known.keys()) {
      if (!fields.has(path)) console.log(`gone: ${path}`);
    }
    console.log(
      `${added.length} new fields of ${fields.size}. "ignored" vanishes in silence: carry, refuse or name it`,
    );
    return added.length === 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Installs the newest version without running its scripts, and returns its folder. */
async function install(sdk: Sdk, folder: string): Promise<string> {
  const version = await npm("view", sdk, "version");
  console.log(`${sdk} ${version}`);
  await npm(
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    `--prefix=${folder}`,
    `${sdk}@${version}`,
  );
  return `${folder}/node_modules/${sdk}/`;
}

async function npm(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("npm", { args })
    .output();
  if (!success) {
    throw new Error(
      `Cannot run npm ${args[0]}: ${new TextDecoder().decode(stderr)}`,
    );
  }
  return new TextDecoder().decode(stdout).trim();
}
