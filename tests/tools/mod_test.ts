import assert from "node:assert/strict";
import { resolve } from "node:path";
import manifest from "../../deno.json" with { type: "json" };
import { sourceCommit } from "../../release/commit.ts";
import { COMMANDS, readCommit, runCli } from "../../src/tools/mod.ts";
import { VERSION } from "../../src/base/version.ts";
import { createMemoryIo } from "../support/fakes/memory_io.ts";
import { fromFileUrl } from "../support/program/paths.ts";

/** A path without a file. */
const MISSING = "no-such-directory/gateway.yaml";

async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const io = createMemoryIo(environment);
  const code = await runCli(args, io);
  return { code, written: io.written(), complained: io.complained() };
}

Deno.test("VERSION is that of deno.json", () => {
  assert.equal(VERSION, manifest.version);
});

Deno.test("runCli() prints the version", async () => {
  for (const flag of ["--version", "-V"]) {
    const { code, written, complained } = await run([flag]);
    assert.equal(code, 0);
    assert.equal(
      written,
      `model-gateway ${manifest.version}
commit unknown: run from the source
deno ${Deno.version.deno}
v8 ${Deno.version.v8}
`,
    );
    assert.equal(complained, "");
  }
});

Deno.test("runCli() prints every command in its help", async () => {
  for (const flag of ["--help", "-h", "help"]) {
    const { code, written, complained } = await run([flag]);
    assert.equal(code, 0);
    assert.equal(complained, "");
    assert.match(written, /^usage:\n/);
    for (
      const command of [
        "serve",
        "demo",
        "dev",
        "check",
        "token",
        "setup",
        "limits",
        "usage",
      ]
    ) {
      assert.ok(written.includes(`\n  model-gateway ${command} `), command);
    }
  }
});

Deno.test("runCli() prints the help of one command, with each of its options", async (t) => {
  for (const { spec } of COMMANDS) {
    await t.step(spec.name, async () => {
      const asked = await run([spec.name, "--help"]);
      assert.equal(asked.code, 0);
      assert.equal(asked.complained, "");
      assert.ok(
        asked.written.startsWith(`usage: model-gateway ${spec.name}`),
        asked.written,
      );
      for (const { name, summary } of spec.options) {
        assert.match(
          asked.written,
          new RegExp(`^  --${name} .*${RegExp.escape(summary)}$`, "m"),
        );
      }
      assert.ok(asked.written.split("\n").every((line) => line.length <= 88));
      assert.deepEqual(await run(["help", spec.name]), asked);
    });
  }
});

Deno.test("runCli() rejects an unknown command, and prints the known ones", async () => {
  for (
    const [command, hint] of [
      ["unknown", ""],
      ["Serve", '. Did you mean "serve"?'],
      ["limit", '. Did you mean "limits"?'],
      ["toString", ""],
      ["__proto__", ""],
      ["", ""],
    ]
  ) {
    const { code, written, complained } = await run([command ?? ""]);
    assert.equal(code, 2);
    assert.equal(written, "");
    const reason = `there is no command ${command}${hint || "."}`;
    assert.ok(
      complained.startsWith(`Cannot start: ${reason}\nusage:\n`),
      complained,
    );
  }
});

Deno.test("runCli() runs serve when no command is named", async () => {
  const command = await run(["serve", "--config", MISSING]);
  const option = await run(["--config", MISSING]);
  const nothing = await run([], { MODEL_GATEWAY_CONFIG: MISSING });
  for (const { code, written, complained } of [command, option, nothing]) {
    assert.equal(code, 2);
    assert.equal(written, "");
    assert.equal(
      complained,
      `Cannot start: ${MISSING} has problems.
  file: does not exist.
Create ${resolve(MISSING)} or use --config.
\`model-gateway init SERVICE...\` prints a first file; \`model-gateway demo\` needs none.
`,
    );
  }
});

Deno.test("runCli() passes the other arguments to the command, and returns 2 for bad usage", async () => {
  const cases = [
    [
      ["serve", "--bogus"],
      "Cannot run serve: there is no option --bogus.\nusage: model-gateway serve ",
    ],
    [
      ["--bogus"],
      "Cannot run serve: there is no option --bogus.\nusage: model-gateway serve ",
    ],
    [
      ["demo", "--bogus"],
      "Cannot run demo: there is no option --bogus.\nusage: model-gateway demo ",
    ],
    [
      ["dev", "--bogus"],
      "Cannot run dev: there is no option --bogus.\nusage: model-gateway dev ",
    ],
    [
      ["check", "--bogus"],
      "Cannot run check: there is no option --bogus.\nusage: model-gateway check ",
    ],
    [
      ["token", "old"],
      "Cannot run token: it needs the word new, and one name or --many FILE.\nusage: model-gateway token ",
    ],
  ] as const;
  for (const [args, complaint] of cases) {
    const { code, written, complained } = await run(args);
    assert.equal(code, 2, args.join(" "));
    assert.equal(written, "");
    assert.ok(complained.startsWith(complaint), complained);
  }
});

Deno.test("runCli() resolves when the command ends", async () => {
  const { code, written } = await run(["token", "new", "alice"]);
  assert.equal(code, 0);
  assert.match(written, /mg_/);
});

Deno.test("the demo rejects a configuration file", async () => {
  const { code, complained } = await run(["demo", "--config", MISSING]);
  assert.equal(code, 2);
  assert.ok(
    complained.startsWith(
      "Cannot run demo: the demo reads no file. Leave --config out.\n",
    ),
  );
});

Deno.test("dev serves the configuration file, or the demo if there is none", async () => {
  const file = fromFileUrl(new URL("../../deno.json", import.meta.url));
  const isFile = { MODEL_GATEWAY_CONFIG: file };
  const isNone = { MODEL_GATEWAY_CONFIG: MISSING };
  const elsewhere = ["dev", "--host", "192.0.2.1"];
  const dev = async (environment: Readonly<Record<string, string>>) =>
    (await run(elsewhere, environment)).complained;
  assert.match(await dev(isFile), /^Cannot start: .* has problems/);
  assert.match(await dev(isNone), /^Cannot listen on 192\.0\.2\.1:8787: /);
  const isDirectory = {
    MODEL_GATEWAY_CONFIG: fromFileUrl(new URL(".", import.meta.url)),
  };
  assert.match(await dev(isDirectory), /^Cannot start: .* has problems/);
  const named = await run(["dev", "--config", MISSING], isNone);
  assert.equal(named.code, 2);
  assert.ok(named.complained.startsWith("Cannot start: "));
});

Deno.test("the commit comes from the embedded build facts", () => {
  assert.equal(readCommit('{"commit":"abc-dirty"}'), "abc-dirty");
  for (const text of ["{}", "null", '{"commit":1}']) {
    assert.equal(readCommit(text), undefined);
  }
});

Deno.test("the commit of a clone has its full hash", async () => {
  // A source without a Git history has no commit.
  assert.match(
    await sourceCommit() ?? "0".repeat(40),
    /^[0-9a-f]{40}(-dirty)?$/,
  );
});
