import { z } from "zod";
import { COMMANDS } from "../src/tools/mod.ts";
import {
  configJsonSchema,
  includedJsonSchema,
} from "../src/gateway/config/schema/json_schema.ts";
import { VERSION } from "../src/base/version.ts";
import { commitTime, sourceCommit } from "./commit.ts";
import {
  bashCompletion,
  fishCompletion,
  zshCompletion,
} from "./completions.ts";
import { manPage } from "./man_page.ts";
import { npmCache, packageUrl, readPackages } from "./packages.ts";
import { sbom } from "./sbom.ts";

const ROOT = new URL("../", import.meta.url);

/**
 * Returns every file of a release except the executables: its text by its name. The files depend on
 * the source, the locked packages and the version of Deno only.
 */
export async function releaseDocuments(): Promise<ReadonlyMap<string, string>> {
  const commands = COMMANDS.map(({ spec }) => spec);
  const date = await commitTime();
  return new Map([
    ["gateway.schema.json", json(configJsonSchema())],
    ["tokens.schema.json", json(includedJsonSchema())],
    ["model-gateway.1", manPage({ commands, version: VERSION, date })],
    ["model-gateway.bash", bashCompletion(commands)],
    ["_model-gateway", zshCompletion(commands)],
    ["model-gateway.fish", fishCompletion(commands)],
    ["model-gateway.cdx.json", json(await billOfMaterials(date))],
  ]);
}

async function billOfMaterials(committedAt: Date): Promise<object> {
  const cache = await npmCache();
  return await sbom({
    version: VERSION,
    commit: await sourceCommit(),
    committedAt,
    packages: await readPackages({
      lock: await Deno.readTextFile(new URL("deno.lock", ROOT)),
      readManifest: (name, version) =>
        Deno.readTextFile(`${cache}/${name}/${version}/package.json`),
    }),
    imported: await importedPackages(),
    runtime: Deno.version,
  });
}

const manifestSchema = z.object({ imports: z.record(z.string(), z.string()) });

/** Returns the package URLs of the imports in `deno.json`, sorted. */
async function importedPackages(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(new URL("deno.json", ROOT));
  const { imports } = manifestSchema.parse(JSON.parse(text));
  const urls = Object.values(imports).map((specifier) => {
    const [, name = "", version = ""] =
      /^npm:(@?[^@]+)@([^/]+)/.exec(specifier) ?? [];
    return packageUrl({ name, version });
  });
  return [...new Set(urls)].sort();
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
