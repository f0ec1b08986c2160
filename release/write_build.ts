/**
 * Writes what an executable embeds of its making, before it is compiled: `deno task compile` runs it.
 */
import { sourceCommit } from "./commit.ts";

const DIST = new URL("../dist/", import.meta.url);

await Deno.mkdir(DIST, { recursive: true });
await Deno.writeTextFile(
  new URL("build.json", DIST),
  `${JSON.stringify({ commit: await sourceCommit() })}\n`,
);
