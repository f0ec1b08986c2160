import { VERSION } from "../core/version.ts";

/** What `deno task compile` writes and embeds. */
const BUILD_URL = new URL("../../dist/build.json", import.meta.url);

/** What `--version` prints: the version, the commit, and what runs it, a line each. */
export async function versionText(): Promise<string> {
  return [
    `model-gateway ${VERSION}`,
    `commit ${await commit()}`,
    `deno ${Deno.version.deno}`,
    `v8 ${Deno.version.v8}`,
    "",
  ].join("\n");
}

/** Only an executable knows its commit: a source may differ from whatever was compiled last. */
async function commit(): Promise<string> {
  if (!Deno.build.standalone) return "unknown: run from the source";
  const text = await Deno.readTextFile(BUILD_URL).catch(() => "null");
  return readCommit(text) ?? "unknown: compiled without the source's history";
}

/** The commit that the text of `dist/build.json` names, if any. */
export function readCommit(text: string): string | undefined {
  const build: unknown = JSON.parse(text);
  return typeof build === "object" && build !== null && "commit" in build &&
      typeof build.commit === "string"
    ? build.commit
    : undefined;
}
