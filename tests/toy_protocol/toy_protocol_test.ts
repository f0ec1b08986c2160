import assert from "node:assert/strict";
import { ASKED_ROWS, NAMING_ROWS, type Row } from "./rows.ts";
import { withRows } from "./with_rows.ts";

// A protocol is added to a copy of the tables, as CONTRIBUTING.md says how, and the program is checked and run with
// them. It needs a process of its own, since a module is loaded once.

const ROOT = new URL("../../", import.meta.url);

/** The page's scripts are checked as a browser's. */
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

/** What a command of Deno says, and whether it was content. */
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

Deno.test("a protocol that has its rows has right types everywhere", async () => {
  for (const check of [CHECK_PAGE, CHECK_PROGRAM]) {
    const { success, text } = await run(ALL, check);
    assert.ok(success, text);
  }
});

Deno.test("the compiler names every table that lacks a row of a protocol", async () => {
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

Deno.test("a protocol with its model in the path goes native and translated through the whole gateway", async () => {
  const { success, text } = await run(ALL, EXCHANGES);
  assert.ok(success, text);
  const [, passed] = /(\d+) passed/.exec(text) ?? [];
  assert.ok(Number(passed) >= 20, text);
});

Deno.test("CONTRIBUTING.md names every file that a protocol needs a row in", async () => {
  const text = await Deno.readTextFile(new URL("CONTRIBUTING.md", ROOT));
  const [, rest = ""] = text.split("**A wire protocol**");
  const [steps = ""] = rest.split("\n**");
  for (const { file } of ALL) assert.ok(steps.includes(`\`${file}\``), file);
});
