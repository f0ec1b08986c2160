import assert from "node:assert/strict";
import { testNeeding } from "../../support/ignored.ts";
import { bundleForNode } from "../../support/program/bundle_for_node.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { translateOnce } from "./translate_once.ts";

const folder = await Deno.makeTempDir();
const module = await bundleForNode(
  "tests/codecs/portable/node_translate.ts",
  folder,
);

testNeeding("Node translates a stream with the same bytes as Deno", [
  !await hasProgram("node") && "there is no Node here",
  module === undefined && "deno bundle cannot get esbuild",
], async () => {
  const { stdout } = await new Deno.Command("node", { args: [module ?? ""] })
    .output();
  await Deno.remove(folder, { recursive: true });
  const expected = await translateOnce();
  assert.equal(new TextDecoder().decode(stdout), `${expected}\n`);
  assert.match(expected, /"text":"Grüße 👋"/);
  assert.match(expected, /event: message_stop/);
});
