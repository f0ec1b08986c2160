import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { gzipSync } from "node:zlib";
import {
  readUsageOptions,
  runUsage,
  USAGE,
} from "../../../src/tools/usage/command.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { parsed } from "../../support/program/parsed.ts";
import { readPages } from "../../support/program/pages.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { inPieces } from "../../support/wire/pieces.ts";
import { steps } from "../../support/steps.ts";

const OTHER_LINE =
  '{"time":"2026-11-21T12:00:00.000Z","level":"info","event":"config_applied"}\n';

/** Lines of two callers, two models and two days. */
const LOG = [
  loggedLine({
    session: "s-1",
    cost_usd: 0.5,
    cache_miss: "idle",
    cache_miss_usd: 0.1,
  }),
  loggedLine({
    time: "2026-11-22T01:00:00.000Z",
    model: "glm-slow",
    session: "s-2",
    usage: { input_tokens: 7, output_tokens: 3, estimated: true },
  }),
  OTHER_LINE,
  loggedLine({
    time: "2026-11-20T23:59:59.999Z",
    token: "bob",
    connection: "DeepSeek",
    status: 502,
    ended: "error",
    usage: undefined,
  }),
  "torn {",
].join("");

interface Run {
  readonly args?: readonly string[];
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** The id of each file when it is named, and when it is opened; by default, its name. */
  readonly ids?: Readonly<Record<string, readonly [string, opened?: string]>>;
  readonly input?: string;
  readonly isTyped?: boolean;
  readonly columns?: number | undefined;
}

/** Runs `usage` over these files. */
async function usage(
  {
    args = [],
    files = { "a.jsonl": LOG },
    ids = {},
    input = LOG,
    isTyped = false,
    columns,
  }: Run,
) {
  const io = createMemoryIo({ TERM: "xterm" });
  const isInput = !args.some((one) => one === "-" || one in files);
  const code = await runUsage(isInput ? [...args, "-"] : args, {
    ...io,
    identify: (path) =>
      Promise.resolve(path in files ? ids[path]?.[0] ?? path : undefined),
    open: (path, isWanted) => {
      const file = path === undefined ? input : files[path];
      if (file === undefined) {
        return Promise.reject(new Error("it does not exist"));
      }
      const id = ids[path ?? ""]?.at(-1) ?? path;
      const isRead = id === undefined || isWanted(id);
      return Promise.resolve(isRead ? inPieces(file, 100) : undefined);
    },
    isTyped: () => isTyped,
    fetch: () => assert.fail("A log needs no gateway"),
    deadline: AbortSignal.timeout,
    now: Date.now,
    columns: () => columns,
  });
  return { code, out: io.written(), error: io.complained() };
}

Deno.test("usage adds up the usage of each token", async () => {
  const { code, out, error } = await usage({ args: ["a.jsonl"] });
  assert.equal(
    out,
    `token  requests  errors  input  output    cost  est.
alice         2       0    107      13  $0.50+    8%
bob           1       1      0       0       –
all           3       1    107      13  $0.50+    8%

+ some requests were of a model without a price
1 turn read little or nothing from the prompt cache, after a pause of over five minutes. Extra cost: $0.10.
3 requests, 1 other line, 1 unreadable line, 2026-11-20T23:59:59.999Z to 2026-11-22T01:00:00.000Z
`,
  );
  assert.equal(error, "");
  assert.equal(code, 0);
});

Deno.test("usage reads standard input for -", async () => {
  const named = await usage({ args: ["a.jsonl", "--json"] });
  assert.deepEqual(await usage({ args: ["--json", "-"], files: {} }), named);
  const both = await usage({ args: ["--json", "-", "a.jsonl"] });
  assert.equal(JSON.parse(both.out).total.requests, 6);
});

Deno.test("usage adds up the named days, by the ends of the requests", async (t) => {
  const other = loggedLine({ time: "2026-11-22T00:00:00.000Z" });
  const input = `collector: ${LOG}torn\n${other}`;
  const cases: readonly (readonly [readonly string[], number])[] = [
    [["--from", "2026-11-21"], 3],
    [["--to", "2026-11-21"], 2],
    [["--from", "2026-11-21", "--to", "2026-11-21"], 1],
    [["--from", "2026-11-23"], 0],
  ];
  for (const [args, requests] of cases) {
    await t.step(args.join(" "), async () => {
      const { code, out, error } = await usage({
        args: [...args, "--json"],
        input,
      });
      assert.deepEqual([code, error], [0, ""]);
      const { lines, total } = JSON.parse(out);
      assert.deepEqual([lines.requests, total.requests], [requests, requests]);
    });
  }
});

Deno.test("usage prints a hint when it reads standard input from a terminal", async () => {
  const typed = await usage({ isTyped: true });
  assert.match(typed.error, /^Reading standard input\. Press Ctrl-D to end it/);
  const file = await usage({ isTyped: true, args: ["a.jsonl"] });
  assert.equal(file.error, "");
});

/** Returns the values of each row in `--json`. */
async function rowsOf(by: string): Promise<readonly Record<string, unknown>[]> {
  const { out } = await usage({ args: ["a.jsonl", "--json", "--by", by] });
  return JSON.parse(out).data;
}

Deno.test("usage adds up by each of its groupings", async (t) => {
  const expected: Readonly<Record<string, readonly unknown[][]>> = {
    token: [["alice", 2], ["bob", 1]],
    model: [["glm-fast", 2], ["glm-slow", 1]],
    connection: [["GLM team", 2], ["DeepSeek", 1]],
    session: [["s-1", 1], ["s-2", 1], [null, 1]],
    // By its calendar, not by what was used.
    day: [["2026-11-20", 1], ["2026-11-21", 1], ["2026-11-22", 1]],
  };
  await steps(t, Object.entries(expected), async ([by, rows]) => {
    const found = (await rowsOf(by)).map((row) => [row[by], row.requests]);
    assert.deepEqual(found, rows);
  });
});

Deno.test("usage adds up by several groupings together, in the order of --by", async () => {
  const rows = await rowsOf("token,model");
  assert.deepEqual(rows.map(({ token, model }) => [token, model]), [
    ["alice", "glm-fast"],
    ["alice", "glm-slow"],
    ["bob", "glm-fast"],
  ]);
  const { out } = await usage({
    args: ["a.jsonl", "--csv", "--by", "model, token"],
  });
  assert.match(out, /^model,token,requests,.*\r\nglm-fast,alice,1,/);
});

Deno.test("usage --json prints one line under stable names", async () => {
  const { code, out } = await usage({ args: ["a.jsonl", "--json"] });
  assert.equal(code, 0);
  assert.equal(out.indexOf("\n"), out.length - 1);
  const alice = {
    requests: 2,
    errors: 0,
    input_tokens: 107,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 13,
    reasoning_tokens: 0,
    cost_usd: 0.5,
    unpriced_requests: 1,
    estimated_tokens: 10,
  };
  const bob = {
    ...alice,
    requests: 1,
    errors: 1,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: null,
    unpriced_requests: 0,
    estimated_tokens: 0,
  };
  assert.deepEqual(JSON.parse(out), {
    object: "usage_totals",
    by: ["token"],
    from: "2026-11-20T23:59:59.999Z",
    to: "2026-11-22T01:00:00.000Z",
    lines: { requests: 3, other: 1, unreadable: 1 },
    total: { ...alice, requests: 3, errors: 1 },
    rest: null,
    cache_misses: [{ cause: "idle", part: null, requests: 1, cost_usd: 0.1 }],
    data: [{ token: "alice", ...alice }, { token: "bob", ...bob }],
  });
});

Deno.test("usage --csv prints a header line, and one line for each row", async () => {
  const { code, out, error } = await usage({ args: ["a.jsonl", "--csv"] });
  assert.equal(code, 0);
  assert.equal(error, "Unreadable lines: 1.\n");
  assert.deepEqual(out.split("\r\n"), [
    "token,requests,errors,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens," +
    "reasoning_tokens,cost_usd,unpriced_requests,estimated_tokens",
    "alice,2,0,107,0,0,13,0,0.5,1,10",
    "bob,1,1,0,0,0,0,0,,0,0",
    "",
  ]);
});

Deno.test("usage --csv escapes a caller's name that looks like a formula", async (t) => {
  const cases: Readonly<Record<string, string>> = {
    '=HYPERLINK("http://evil.test")': `"'=HYPERLINK(""http://evil.test"")"`,
    "+1": `"'+1"`,
    "-1+2": `"'-1+2"`,
    "@SUM(A1)": `"'@SUM(A1)"`,
    "\t=1": `"'\t'=1"`,
    "\r=1": `"'\r'=1"`,
    "\t1": `"'\t1"`,
    "＝1": `"'＝1"`,
    "a,b": `"a,b"`,
    'say "hi"': `"say ""hi"""`,
    "two\nlines": `"two\nlines"`,
    "a=b-c@d": `"a=b-c@d"`,
    "x;=cmd|' /C calc'!A0;y": `"x;'=cmd|' /C calc'!A0;y"`,
    "a|@SUM(A1)": `"a|'@SUM(A1)"`,
    "a\t+1;-1": `"a\t'+1;'-1"`,
    "a; =1": `"a;' =1"`,
    "two\n=1": `"two\n'=1"`,
    "=1;=2": `"'=1;'=2"`,
    "x;y": `"x;y"`,
    "my project": `"my project"`,
    "caf\u00e9": `"caf\u00e9"`,
    "gpt-5.5_mini": "gpt-5.5_mini",
  };
  for (const [session, field] of Object.entries(cases)) {
    await t.step(JSON.stringify(session), async () => {
      const { out } = await usage({
        args: ["--csv", "--by", "session"],
        input: loggedLine({ session }),
      });
      assert.ok(out.includes(`\r\n${field},1,`), out);
    });
  }
});

Deno.test("usage writes no control characters, in any format", async (t) => {
  const session =
    "a\x1b[2Jb\x9bc\x07d\x7fe\0f\u202eg\u2066h\u200bi\ufeffj\u2028k\u{e0041}l";
  for (const format of [[], ["--csv"], ["--json"]]) {
    await t.step(format.join() || "table", async () => {
      const { out } = await usage({
        args: [...format, "--by", "session"],
        input: loggedLine({ session }),
      });
      assert.ok(out.includes("[2J"));
      assert.doesNotMatch(out, /(?![\r\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    });
  }
});

Deno.test("usage --csv writes small costs without an exponent", async () => {
  const { out } = await usage({
    args: ["--csv"],
    input: loggedLine({ cost_usd: 1e-7 }).repeat(3),
  });
  assert.match(out, /,0\.0000003,0,0\r\n$/);
});

Deno.test("usage reads compressed logs", async () => {
  const files = { "a.jsonl.1.gz": gzipSync(LOG), "a.jsonl": LOG };
  const { code, out } = await usage({
    args: ["--json", ...Object.keys(files)],
    files,
  });
  assert.equal(code, 0);
  assert.equal(JSON.parse(out).total.requests, 6);
});

Deno.test("usage continues after an unreadable log, reports it, and ends with 1", async () => {
  const files = {
    "cut.gz": gzipSync(LOG.repeat(1000)).subarray(0, -10),
    "a.jsonl": LOG,
  };
  const { code, out, error } = await usage({
    args: ["missing.jsonl", "cut.gz", "a.jsonl", "--json"],
    files,
  });
  assert.equal(code, 1);
  const [missing, cut, ...more] = error.split("\n");
  assert.equal(
    missing,
    "Cannot read missing.jsonl to its end: it does not exist.",
  );
  assert.match(cut ?? "", /^Cannot read cut\.gz to its end: /);
  assert.deepEqual(more, [""]);
  assert.ok(JSON.parse(out).total.requests > 3);
});

Deno.test("usage counts a log with several names once", async () => {
  const once = await usage({ args: ["a.jsonl", "--json"] });
  assert.equal(once.code, 0);
  const same = ["1"] as const;
  const cases: readonly Run[] = [
    { args: ["a.jsonl", "a.jsonl", "--json"] },
    { args: ["-", "--json", "-"] },
    {
      args: ["a.jsonl", "current.jsonl", "--json"],
      files: { "a.jsonl": LOG, "current.jsonl": LOG },
      ids: { "a.jsonl": same, "current.jsonl": same },
    },
  ];
  for (const run of cases) assert.deepEqual(await usage(run), once);
});

Deno.test("usage counts a log once if it is renamed during the run, and reports missed logs", async () => {
  const { code, out, error } = await usage({
    args: ["a", "a.1", "a.2", "--json"],
    files: { "a": LOG, "a.1": LOG, "a.2": LOG },
    ids: {
      "a": ["newest"],
      "a.1": ["older", "newest"],
      "a.2": ["oldest", "older"],
    },
  });
  assert.equal(JSON.parse(out).total.requests, 6);
  assert.equal(
    error,
    "Cannot read a.2 to its end: it was renamed meanwhile. Run the command again.\n",
  );
  assert.equal(code, 1);
});

Deno.test("usage reports a file that is not a JSON log", async () => {
  const { code, out, error } = await usage({
    input: "2026-11-21T12:00:00.000Z info request token=alice\n",
  });
  assert.equal(code, 1);
  assert.equal(out, "0 requests, 0 other lines, 1 unreadable line\n");
  assert.match(
    error,
    /^Cannot add up the log: no line is one of the gateway's/,
  );
  const empty = await usage({ input: "" });
  assert.equal(empty.code, 0);
  assert.equal(empty.error, "");
});

Deno.test("usage rejects bad arguments", async (t) => {
  const cases: readonly [readonly string[], RegExp][] = [
    [
      ["--by", "colour"],
      /: --by must list some of token, group, model, connection, day, session and headers such as x-project, each once\.\n/,
    ],
    [["--by", "token,token"], /: --by must list some of/],
    [["--by", "token,"], /: --by must list some of/],
    [["--json", "--csv"], /: --json and --csv exclude each other\.\n/],
    [["--from", "november"], /: --from and --to must be days such as/],
    [["--from", "2026-11-02", "--to", "2026-11-01"], /, in order\.\n/],
    [
      ["--bye", "token"],
      /: there is no option --bye\. Did you mean "--by"\?\n/,
    ],
  ];
  for (const [args, complaint] of cases) {
    await t.step(args.join(" "), async () => {
      const { code, out, error } = await usage({ args });
      assert.equal(code, 2);
      assert.equal(out, "");
      assert.match(error, complaint);
      assert.match(error, /\nusage: model-gateway usage \[LOG\.\.\.\] /);
    });
  }
});

/** A log in which every column has a value. */
const FULL_LOG = ["alice", "a-person-with-a-long-name", "bob"].map((token) =>
  loggedLine({
    token,
    status: token === "bob" ? 502 : 200,
    cost_usd: 1234.5,
    usage: {
      input_tokens: 987_654_321,
      cached_input_tokens: 99_999_999,
      cache_write_tokens: 88_888,
      output_tokens: 7_654_321,
      reasoning_tokens: 1_234_567,
      estimated: token === "bob",
    },
  })
).join("");

Deno.test("usage draws a table that fits the terminal", async (t) => {
  for (const columns of [200, 100, 80, 60, 40, 30]) {
    await t.step(`${columns} columns`, async () => {
      const { out } = await usage({ input: FULL_LOG, columns });
      const lines = stripVTControlCharacters(out).split("\n");
      for (const line of lines) {
        assert.ok(line.length <= columns, `${line.length}: ${line}`);
        assert.equal(line, line.trimEnd());
      }
      const text = lines.join(" ").replaceAll(/ +/g, " ");
      for (
        const part of [
          "a-person-with-a-long-name",
          "988M",
          "100M",
          "88,888",
          "$1,234.50",
          "$3,703.50",
        ]
      ) {
        assert.ok(text.includes(part), `${part} in ${text}`);
      }
    });
  }
});

Deno.test("usage puts the columns of short names into 80 characters", async () => {
  const { out } = await usage({
    input: FULL_LOG.replaceAll("a-person-with-a-long-name", "carol"),
    columns: 80,
  });
  assert.equal(
    stripVTControlCharacters(out).split("\n")[0],
    "token requests errors input cached written output reasoning      cost est.",
  );
});

Deno.test("usage writes colours only to a terminal, and no other control sequence", async () => {
  const input = loggedLine({ token: "a\x1b[2J\u202eb" });
  const toFile = await usage({ input });
  assert.ok(!toFile.out.includes("\x1b"));
  assert.ok(toFile.out.includes("a [2J b"));
  const toTerminal = await usage({ input, columns: 100 });
  assert.ok(toTerminal.out.includes("\x1b[2mtoken"));
  assert.ok(!toTerminal.out.includes("\x1b[2J"));
});

Deno.test("usage draws a limited number of rows, and reports how many it omits", async () => {
  const input = Array.from(
    { length: 1002 },
    (_, index) => loggedLine({ session: `s-${index}` }),
  ).join("");
  const drawn = await usage({ input, args: ["--by", "session"] });
  assert.equal(drawn.out.match(/^s-/gm)?.length, 1000);
  assert.match(drawn.out, /^2 more rows: --csv and --json print all$/m);
  assert.match(drawn.out, /^all +1,002 /m);
  const { out } = await usage({ input, args: ["--by", "session", "--csv"] });
  assert.equal(out.match(/^s-/gm)?.length, 1002);
});

Deno.test("readUsageOptions() accepts every command of the documentation", async () => {
  const text = [...(await readPages()).values()].join("\n");
  const lines = [
    ...text.matchAll(/^ *(?!#)[^`\n]*\bmodel-gateway usage\b(.*)$/gm),
  ]
    .map(([, words = ""]) => words.replace(/ > .*/, "").trim());
  assert.ok(lines.length >= 4, lines.join("\n"));
  for (const line of lines) {
    const words = line.split(/\s+/).filter((word) => word !== "");
    readUsageOptions(await parsed(USAGE, words), () => "mg_token");
  }
});

async function usageOptions(args: readonly string[]) {
  return readUsageOptions(await parsed(USAGE, args), () => undefined);
}

Deno.test("readUsageOptions() adds up by token by default", async () => {
  assert.deepEqual(await usageOptions(["-"]), {
    paths: ["-"],
    by: ["token"],
    days: undefined,
    format: "table",
  });
  const args = ["a", "--by=day,token", "-", "--csv"];
  assert.deepEqual(await usageOptions(args), {
    paths: ["a", "-"],
    by: ["day", "token"],
    days: undefined,
    format: "csv",
  });
});

Deno.test("usage adds up by group and by attribution headers, several at once", async () => {
  const files = {
    "a.jsonl": ["billing", "search", undefined].map((project) =>
      loggedLine({
        token_group: "platform",
        ...(project && { attribution: { "x-project": project } }),
      })
    ).join(""),
  };
  const { out } = await usage({
    args: ["a.jsonl", "--json", "--by", "group,x-project"],
    files,
  });
  const { data }: { data: readonly Record<string, unknown>[] } = JSON.parse(
    out,
  );
  assert.deepEqual(
    data.map((row) => [row.group, row["x-project"], row.requests]),
    [["platform", "billing", 1], ["platform", "search", 1], [
      "platform",
      null,
      1,
    ]],
  );
  const refused = await usage({ args: ["a.jsonl", "--by", "group,group"] });
  assert.match(refused.error, /each once/);
});
