import assert from "node:assert/strict";
import { ASKED_ROWS, NAMING_ROWS, type Row } from "./rows.ts";
import { withRows } from "./with_rows.ts";

// These tests add a protocol to a copy of the tables, by the steps of CONTRIBUTING.md, and check and run the program
// with them. That needs a separate process, because a module is loaded once.

const ROOT = new URL("../../", import.meta.url);

/** The check of the page's scripts, with a browser's types. */
const CHECK_PAGE = [
  "check",
  "--config=src/page/browser/types.json",
  "--no-lock",
  "src/page/browser/main.js",
];

const CHECK = ["check", "--lock=tests/deno.lock"];

const CHECK_PROGRAM = [
  ...CHECK,
  "src/tools/main.ts",
  "tests/toy_protocol/exchanges_check.ts",
];

const EXCHANGES = [
  "test",
  "--no-check",
  "--quiet",
  "--lock=tests/deno.lock",
  "--allow-net=127.0.0.1",
  "--allow-read",
  "--allow-env",
  "--allow-sys",
  "tests/toy_protocol/exchanges_check.ts",
];

/** Runs a command of Deno with further rows. Returns its output and success. */
async function run(
  rows: readonly Row[],
  [command = "", ...args]: readonly string[],
): Promise<{ readonly success: boolean; readonly text: string }> {
  await using patched = await withRows(rows);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [command, `--import-map=${patched.path}`, ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

const ALL = [...NAMING_ROWS, ...ASKED_ROWS];

Deno.test("the program passes the compiler with the rows of another protocol", async () => {
  for (const check of [CHECK_PAGE, CHECK_PROGRAM]) {
    const { success, text } = await run(ALL, check);
    assert.ok(success, text);
  }
});

Deno.test("the compiler names every table that lacks a row of another protocol", async () => {
  const tables = new Set(ASKED_ROWS.map(({ file }) => `src/${file}`));
  const checkTables = [
    ...CHECK,
    ...[...tables].filter((path) => path.endsWith(".ts")),
  ];
  const reports = await Promise.all(
    [CHECK_PAGE, checkTables].map((check) => run(NAMING_ROWS, check)),
  );
  assert.ok(reports.every(({ success }) => !success));
  const faults = reports.flatMap(({ text }) => text.split("\n\n"))
    .filter((fault) => /Property 'toy(_ask)?' is missing/.test(fault));
  for (const file of new Set(ASKED_ROWS.map(({ file }) => file))) {
    const isNamed = faults.some((fault) => fault.includes(file));
    assert.ok(isNamed, `${file} is not named:\n${faults.join("\n\n")}`);
  }
});

Deno.test("the gateway forwards and translates a protocol with its model in the path", async () => {
  const { success, text } = await run(ALL, EXCHANGES);
  assert.ok(success, text);
  const [, passed] = /(\d+) passed/.exec(text) ?? [];
  assert.ok(Number(passed) >= 20, text);
});

Deno.test("CONTRIBUTING.md names every file that needs a row for a protocol", async () => {
  const text = await Deno.readTextFile(new URL("CONTRIBUTING.md", ROOT));
  const [, rest = ""] = text.split("**A wire protocol**");
  const [steps = ""] = rest.split("\n**");
  for (const { file } of ALL) assert.ok(steps.includes(`\`${file}\``), file);
});
