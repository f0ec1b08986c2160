import assert from "node:assert/strict";
import { releaseDocuments } from "../../release/documents.ts";
import {
  configJsonSchema,
  includedJsonSchema,
} from "../../src/gateway/config/schema/json_schema.ts";
import { testNeeding } from "../support/ignored.ts";
import { hasProgram } from "../support/program/has_program.ts";
import { runOther } from "../support/program/run_program.ts";
import {
  bashCompletion,
  fishCompletion,
  zshCompletion,
} from "../../release/completions.ts";
import { COMMANDS } from "../../src/tools/mod.ts";
import { openTempFolder } from "../support/temp_folder.ts";

const documents = await releaseDocuments();

function documentOf(name: string): string {
  const text = documents.get(name);
  assert.ok(text !== undefined, name);
  return text;
}

Deno.test("the documents of a release are the same in every run", async () => {
  assert.deepEqual([...documents.keys()], [
    "gateway.schema.json",
    "tokens.schema.json",
    "model-gateway.1",
    "model-gateway.bash",
    "_model-gateway",
    "model-gateway.fish",
    "model-gateway.cdx.json",
  ]);
  assert.deepEqual(await releaseDocuments(), documents);
});

Deno.test("the schemas of a release equal the schemas of the program", () => {
  assert.deepEqual(
    JSON.parse(documentOf("tokens.schema.json")),
    includedJsonSchema(),
  );
  assert.deepEqual(
    JSON.parse(documentOf("gateway.schema.json")),
    configJsonSchema(),
  );
});

interface Component {
  readonly "bom-ref": string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license?: { readonly id: string } }[];
  readonly hashes?: readonly { readonly content: string }[];
}

Deno.test("the bill of materials names every package with its licence and checksum, and the runtime", () => {
  const bom = JSON.parse(documentOf("model-gateway.cdx.json"));
  assert.equal(bom.bomFormat, "CycloneDX");
  assert.equal(bom.specVersion, "1.6");
  assert.match(
    bom.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  );
  const components: readonly Component[] = bom.components;
  const names = components.map(({ name }) => name);
  assert.ok(
    ["zod", "@prometheus-io/client", "deno", "v8", "@openai/codex"]
      .every((name) => names.includes(name)),
  );
  assert.ok(!names.includes("openai"), "a package of the tests");
  for (const { name, version, licenses, purl, type, hashes } of components) {
    assert.match(
      licenses[0]?.license?.id ?? "",
      /^(MIT|Apache-2\.0|BSD-3-Clause)$/,
      name,
    );
    assert.ok(purl.endsWith(version), name);
    if (type === "library") {
      assert.match(hashes?.[0]?.content ?? "", /^[0-9a-f]{128}$/);
    }
  }
});

Deno.test("the bill of materials connects all of its packages to the program", () => {
  const bom = JSON.parse(documentOf("model-gateway.cdx.json"));
  const components: readonly Component[] = bom.components;
  const refs = new Set(components.map((one) => one["bom-ref"]));
  assert.equal(refs.size, components.length);
  const reached = new Set<string>();
  const dependencies: readonly { ref: string; dependsOn: string[] }[] =
    bom.dependencies;
  const visit = (ref: string) => {
    for (
      const one of dependencies.find((row) => row.ref === ref)?.dependsOn ?? []
    ) {
      assert.ok(refs.has(one), one);
      if (reached.has(one)) continue;
      reached.add(one);
      visit(one);
    }
  };
  visit(bom.metadata.component["bom-ref"]);
  assert.deepEqual(reached, refs);
});

testNeeding(
  "groff formats the manual without a warning",
  !await hasProgram("groff") && "there is no groff here",
  async () => {
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(file, documentOf("model-gateway.1"));
    const format = ["-man", "-ww", "-Tutf8", "-P-cbou"];
    const { stdout, stderr } = await runOther("groff", [...format, file]);
    await Deno.remove(file);
    assert.equal(stderr, "");
    const text = stdout.replaceAll(/\s+/g, " ");
    assert.match(text, /check \[--config FILE\] \[--live\]/);
    assert.match(text, /--live send each provider a request to test/);
    assert.match(text, /MODEL_GATEWAY_CONFIG/);
  },
);

const COMMAND_SPECS = COMMANDS.map(({ spec }) => spec);

/** Returns the completions of bash after these words. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const script = `${bashCompletion(COMMAND_SPECS)}
COMP_WORDS=(model-gateway "$@")
COMP_CWORD=$#
_model_gateway
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ["--norc", "-c", script, "bash", ...words];
  const { stdout, stderr } = await runOther("bash", args);
  assert.equal(stderr, "");
  return stdout.split("\n").filter((line) => line !== "");
}

const ROWS: readonly (readonly [words: string[], offers: string[]])[] = [
  [["ch"], ["check"]],
  [["--v"], ["--version"]],
  [["check", "--l"], ["--live"]],
  [["serve", "--log", ""], ["json", "text"]],
  [["serve", "--port", ""], []],
  [["token", "n"], ["new"]],
  [["init", "deep"], ["deepseek"]],
  [["init", "zai", "deep"], ["deepseek"]],
  [["help", "sch"], ["schema"]],
  [["nothing", ""], []],
];

testNeeding(
  "bash completes commands, options and their values",
  !await hasProgram("bash") && "there is no bash here",
  async (t) => {
    for (const [words, offers] of ROWS) {
      await t.step(words.join(" "), async () => {
        assert.deepEqual(await offered(...words), offers);
      });
    }
    await t.step("every command", async () => {
      const names = COMMAND_SPECS.map(({ name }) => name);
      const others = ["help", "--help", "--version"];
      assert.deepEqual(await offered(""), [...names, ...others]);
    });
    await t.step("files", async () => {
      await using folder = await openTempFolder();
      const file = `${folder.path}/gateway.yaml`;
      await Deno.writeTextFile(file, "");
      for (const words of [["check", "--config"], ["usage"]]) {
        const beginning = `${folder.path}/g`;
        assert.deepEqual(await offered(...words, beginning), [file]);
      }
    });
  },
);

/** The shells that can check a script without running it. */
const SCRIPTS = [
  { shell: "zsh", script: zshCompletion(COMMAND_SPECS) },
  { shell: "fish", script: fishCompletion(COMMAND_SPECS) },
];

for (const { shell, script } of SCRIPTS) {
  testNeeding(
    `${shell} reads its completion`,
    !await hasProgram(shell) && `there is no ${shell} here`,
    async () => {
      const file = await Deno.makeTempFile();
      await Deno.writeTextFile(file, script);
      const { code, stderr } = await runOther(shell, ["-n", file]);
      await Deno.remove(file);
      assert.equal(code, 0, stderr);
    },
  );

  Deno.test(`the completion of ${shell} has every command and option, and its quotes are closed`, () => {
    for (const { name, options } of COMMAND_SPECS) {
      assert.match(script, new RegExp(`\\b${name}\\b`));
      for (const option of options) {
        const written = shell === "fish"
          ? `-l ${option.name}`
          : `--${option.name}`;
        assert.ok(script.includes(written), written);
      }
    }
    for (
      const line of script.split("\n").filter((one) => !one.startsWith("#"))
    ) {
      assert.equal(line.split("'").length % 2, 1, line);
    }
  });
}
