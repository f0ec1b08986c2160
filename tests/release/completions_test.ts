import assert from "node:assert/strict";
import {
  bashCompletion,
  fishCompletion,
  zshCompletion,
} from "../../release/completions.ts";
import { COMMANDS } from "../../src/cli/mod.ts";
import { hasProgram } from "../support/program/has_program.ts";

const COMMAND_SPECS = COMMANDS.map(({ spec }) => spec);

/** What bash offers behind these words. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const script = `${bashCompletion(COMMAND_SPECS)}
COMP_WORDS=(model-gateway "$@")
COMP_CWORD=$#
_model_gateway
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = await new Deno.Command("bash", {
    args: ["--norc", "-c", script, "bash", ...words],
  }).output();
  const decoder = new TextDecoder();
  assert.equal(decoder.decode(stderr), "");
  return decoder.decode(stdout).split("\n").filter((line) => line !== "");
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

const hasBash = await hasProgram("bash");

Deno.test({
  name: hasBash
    ? "bash completes commands, options and their values"
    : "bash completes commands, options and their values (ignored: there is no bash here)",
  ignore: !hasBash,
  async fn(t) {
    for (const [words, offers] of ROWS) {
      await t.step(words.join(" "), async () => {
        assert.deepEqual(await offered(...words), offers);
      });
    }
    await t.step("every command", async () => {
      const names = COMMAND_SPECS.map(({ name }) => name);
      assert.deepEqual(await offered(""), [
        ...names,
        "help",
        "--help",
        "--version",
      ]);
    });
    await t.step("files", async () => {
      const directory = await Deno.makeTempDir();
      await Deno.writeTextFile(`${directory}/gateway.yaml`, "");
      assert.deepEqual(await offered("check", "--config", `${directory}/g`), [
        `${directory}/gateway.yaml`,
      ]);
      assert.deepEqual(await offered("usage", `${directory}/g`), [
        `${directory}/gateway.yaml`,
      ]);
      await Deno.remove(directory, { recursive: true });
    });
  },
});

/** The shells that judge a script without running it. */
const SCRIPTS = [
  { shell: "zsh", script: zshCompletion(COMMAND_SPECS) },
  { shell: "fish", script: fishCompletion(COMMAND_SPECS) },
];

for (const { shell, script } of SCRIPTS) {
  const isHere = await hasProgram(shell);
  Deno.test({
    name: isHere
      ? `${shell} reads its completion`
      : `${shell} reads its completion (ignored: there is no ${shell} here)`,
    ignore: !isHere,
    async fn() {
      const file = await Deno.makeTempFile();
      await Deno.writeTextFile(file, script);
      const { success, stderr } = await new Deno.Command(shell, {
        args: ["-n", file],
      }).output();
      await Deno.remove(file);
      assert.ok(success, new TextDecoder().decode(stderr));
    },
  });

  Deno.test(`the completion of ${shell} has every command and option, in quotes that end`, () => {
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
