import assert from "node:assert/strict";
import { createToken, runToken } from "../../../src/cli/commands/token.ts";
import { starterFile } from "../../../src/config/starter.ts";
import { parseYaml } from "../../../src/core/std.ts";
import { sha256Hex } from "../../../src/core/sha256.ts";
import {
  loadFile,
  loadText,
  minimalFile,
} from "../../support/gateway/config.ts";

function run(...args: string[]) {
  const written = { out: "", error: "" };
  const code = runToken(args, {
    write: (text) => written.out += text,
    writeError: (text) => written.error += text,
    env: () => undefined,
  });
  return { code, ...written };
}

Deno.test("token new prints the token once and an entry that lets it in", async () => {
  const { code, out, error } = run("new", "alice: the 1st");
  assert.equal(code, 0);
  assert.equal(error, "");
  const tokens = out.match(/mg_[\w-]+/g) ?? [];
  assert.equal(tokens.length, 1);
  const yaml = parseYaml(`tokens:\n${out.slice(out.indexOf("  - "))}`);
  assert.deepEqual(yaml, {
    tokens: [{
      name: "alice: the 1st",
      sha256: sha256Hex(tokens[0] ?? ""),
      connections: ["*"],
    }],
  });
  assert.ok("config" in await loadFile({ ...minimalFile(), ...Object(yaml) }));
});

Deno.test("what token new prints fits below the tokens of the file that init prints", async () => {
  const { out } = run("new", "bob");
  const entry = out.slice(out.indexOf("  - "));
  const env = (name: string) =>
    name === "ALICE_SHA256" ? sha256Hex("mg_alice") : "key";
  const loaded = await loadText(`${starterFile(["anthropic"])}${entry}`, {
    env,
  });
  assert.ok("config" in loaded, JSON.stringify(loaded));
  assert.deepEqual(
    [...loaded.config.callers.values()].map(({ name }) => name),
    [
      "alice",
      "bob",
    ],
  );
  assert.match(out, /below `tokens:` in gateway\.yaml/);
  assert.doesNotMatch(out, /^tokens:/m);
});

Deno.test("token new never makes the same token twice", () => {
  assert.notEqual(run("new", "alice").out, run("new", "alice").out);
});

Deno.test("createToken() writes 256 bits as 43 characters of base64url", () => {
  const ones = createToken(new Uint8Array(32).fill(255));
  assert.equal(ones, `mg_${"_".repeat(42)}8`);
  const mixed = createToken(new Uint8Array(32).fill(0xfb));
  assert.match(mixed, /^mg_[\w-]{43}$/);
});

Deno.test("token refuses a name that the configuration would refuse", () => {
  assert.deepEqual(run("new", "*"), {
    code: 2,
    out: "",
    error: "name: must not be *, which means every name.\n",
  });
});

Deno.test("token prints its usage after bad arguments", () => {
  for (const args of [[], ["new"], ["old", "alice"], ["new", "alice", "bob"]]) {
    assert.deepEqual(run(...args), {
      code: 2,
      out: "",
      error: "Cannot run token: it needs the word new and one name.\n" +
        "usage: model-gateway token new NAME\n" +
        "Run model-gateway token --help for more.\n",
    });
  }
});
