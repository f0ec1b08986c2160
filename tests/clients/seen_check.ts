import assert from "node:assert/strict";
import { testsWith } from "./checked_client.ts";
import { installClient } from "./install.ts";
import { OTHER_PROGRAMS } from "./other_programs.ts";
import { CLIENTS } from "./programs.ts";
import { installPythonSdks, PYTHON_SDKS } from "./python_sdks.ts";
import { meet, SEEN_FAILURES } from "./seen_failures.ts";
import { hasPrinted, readSeenRows, type SeenRow } from "./seen_table.ts";

// Real clients from npm and PyPI with the failures that people see. Each row of the tables in
// docs/reference/messages.md must have the client's message and the time of its end. `deno task test:clients` runs
// this; `deno task test` does not.

/** The most repeats of a request, for clients with such a setting, and for Claude Code. */
const RETRIES = 5;
const CLAUDE_RETRIES = 10;

/** The longest time from the first request of a client that ends in seconds, in milliseconds. */
const SECONDS_MS = 30_000;

/**
 * The longest time from the start, if no request arrives: some clients take half a minute to start on a busy machine.
 */
const STARTED_MS = 60_000;

/** The longest time of a client that ends, in milliseconds. */
const RUN_MS = 290_000;

/** The time after which a client counts as one that does not end, in milliseconds. */
const NEVER_MS = 60_000;

const PAGE = new URL("../../docs/reference/messages.md", import.meta.url);

/** All clients. Qwen Code and opencode have the protocol that `setup` prints. */
const PROGRAMS = [
  ...CLIENTS.map((program) => ({
    ...program,
    name: program.name.replace(/ over chat$/, ""),
    install: () => installClient(program),
  })),
  ...PYTHON_SDKS.map((program) => ({ ...program, install: installPythonSdks })),
  ...OTHER_PROGRAMS,
];

type Program = typeof PROGRAMS[number];

const rows = readSeenRows(await Deno.readTextFile(PAGE));

for (const program of PROGRAMS) {
  const own = rows.filter(({ client }) => client === program.name);
  if (own.length === 0) continue;
  const test = testsWith(program.name, await program.install());
  for (const row of own) {
    test(
      `prints the documented message for: ${row.failure}`,
      (command) => check(row, program, command),
    );
  }
}

for (const program of PYTHON_SDKS) {
  testsWith(program.name, await installPythonSdks())(
    "prints the answer if there is no failure",
    async (command) => {
      const { run, report } = await meet({
        program,
        command,
        failure: {},
        retries: RETRIES,
        runMs: RUN_MS,
      });
      assert.equal(run.code, 0, report);
      assert.match(run.stdout, /You said: /, report);
    },
  );
}

async function check(
  { failure: heading, printed, ends }: SeenRow,
  program: Program,
  command: readonly string[],
): Promise<void> {
  const failure = SEEN_FAILURES[heading];
  assert.ok(failure !== undefined, heading);
  const runMs = ends === "never" ? NEVER_MS : RUN_MS;
  const startMs = Date.now();
  const { run, report, tookMs } = await meet({
    program,
    command,
    failure,
    retries: program.name === "Claude Code" ? CLAUDE_RETRIES : RETRIES,
    runMs,
  });
  assert.notEqual(run.code, 0, report);
  const output = `${run.stdout}\n${run.stderr}`;
  for (const text of printed) {
    assert.ok(hasPrinted(output, text), `${text}\n${report}`);
  }
  const isStopped = Date.now() - startMs >= runMs;
  assert.equal(isStopped, ends === "never", `${tookMs} ms\n${report}`);
  if (ends !== "never") {
    assert.equal(
      tookMs > (failure.isDown === true ? STARTED_MS : SECONDS_MS),
      ends === "in minutes",
      `${tookMs} ms\n${report}`,
    );
  }
}
