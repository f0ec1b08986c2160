import assert from "node:assert/strict";
import { runUsage } from "../../../src/tools/usage/command.ts";
import { inColour } from "../../../src/base/text.ts";
import { localTime } from "../../../src/page/wording/times.js";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { NOON_MS } from "../../support/wire/limits_list.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { steps } from "../../support/steps.ts";

const TOKEN = "mg_secret-of-alice";

interface Run {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The response of the gateway. */
  readonly answer?: () => Response | Promise<Response>;
  readonly columns?: number;
}

/** Runs `usage` without a log against a gateway with this response. */
async function ownUsage({ args = [], env = {}, answer, columns }: Run = {}) {
  const io = createMemoryIo({ MODEL_GATEWAY_TOKEN: TOKEN, ...env });
  const requests: Request[] = [];
  const code = await runUsage(args, {
    ...io,
    fetch: async (input, init) => {
      requests.push(new Request(input, init));
      return await (answer?.() ?? Response.json(REPORT));
    },
    deadline: () => new AbortController().signal,
    now: () => NOON_MS,
    columns: () => columns,
    identify: () => assert.fail("no log is named"),
    open: () => assert.fail("no log is named"),
    isTyped: () => assert.fail("no log is named"),
  });
  const [out, error] = [io.written(), io.complained()];
  assert.ok(!(out + error).includes(TOKEN));
  return { code, out, error, requests };
}

const FULL_REPORT = usageReport(ownLimit(), groupLimit(50));
const REPORT = { ...FULL_REPORT, history: FULL_REPORT.history.slice(-2) };

Deno.test("usage without a log marks a cost that does not include all requests", async () => {
  const days = REPORT.history.map((day) => ({ ...day, unpriced_requests: 2 }));
  const [unpriced] = REPORT.windows;
  const report = {
    ...REPORT,
    windows: [{
      ...unpriced,
      total: { ...unpriced?.total, unpriced_requests: 1 },
    }],
    history: days,
  };
  const { out } = await ownUsage({
    columns: 101,
    env: { NO_COLOR: "1" },
    answer: () => Response.json(report),
  });
  assert.match(out, /1 hour .*\d\+ /);
  assert.match(
    out.replace(/\s+/g, " "),
    /The cost leaves out \d+ requests to models without a price\./,
  );
});

Deno.test("usage without a log reads the token's own usage from the gateway", async () => {
  const { code, out, error, requests } = await ownUsage({
    columns: 101,
    env: { NO_COLOR: "1" },
  });
  assert.equal(error, "");
  assert.equal(code, 0);
  const [request, ...more] = requests;
  assert.equal(more.length, 0);
  assert.equal(request?.url, "http://127.0.0.1:8787/v1/usage");
  assert.equal(request.headers.get("authorization"), `Bearer ${TOKEN}`);
  const since = localTime(Date.parse(REPORT.since));
  assert.deepEqual(out.split("\n"), [
    "Your token  its own limits",
    "  1 day tokens   ██████████░░░  3,750,000 of 5,000,000 left   25% used  resets in 12 h 0 min",
    "",
    "Group interns  shared by its members",
    "  1 month money  ░░░░░░░░░░░░░         $0.00 of $50.00 left  100% used  resets in 10 d 12 h   used up",
    "",
    `Used by alice  counted since ${since}`,
    "  window   requests  input  cached  output   cost  reset",
    "  1 hour          3  4,210   3,000     512  $0.01  resets in 1 h 0 min",
    "  1 month     1,204  18.6M   3,000     512  $0.01  resets in 10 d 12 h",
    "",
    "You, day by day in UTC",
    "  day                               requests  input  cached  output   cost",
    "  2026-11-19  █████████░░░░░░░░░░░        48   400K    320K  16,000  $1.00",
    "  2026-11-20  ████████████████████       108   900K    720K  36,000  $2.25",
    "$3.25 since 2026-11-19. Today $2.25, at this pace about $4.50 by midnight UTC.",
    "",
    "This month: 3 turns read little or nothing from the prompt cache: 2 after a pause of over five",
    "minutes, 1 because the tools changed. Extra cost: at least $0.50.",
    "model-gateway limits shows what the connections have left.",
    "",
  ]);
});

Deno.test("usage says that there are no limits, and shows no cost without prices", async () => {
  const report = usageReport();
  const windows = report.windows.map((one) => ({
    ...one,
    total: { ...one.total, cost_usd: null },
  }));
  const { out } = await ownUsage({
    answer: () => Response.json({ ...report, windows }),
  });
  assert.match(out, /^No limit of the gateway applies to this token\.\n\nUsed/);
  assert.match(out, /1 hour .* 512 +– +resets in/);
});

Deno.test("usage fits a narrow terminal, and uses colours if the terminal has them", async () => {
  const { out } = await ownUsage({ columns: 60, env: { NO_COLOR: "1" } });
  for (const line of out.split("\n")) assert.ok(line.length <= 60, line);
  const coloured = await ownUsage({ columns: 130, env: { TERM: "xterm" } });
  assert.ok(coloured.out.includes(inColour("red", "used up")));
});

Deno.test("usage labels each number of a window that does not fit in a line", async () => {
  const { out } = await ownUsage({ columns: 40, env: { NO_COLOR: "1" } });
  assert.ok(out.split("\n").every((line) => line.length <= 40), out);
  const drawn = out.slice(out.indexOf("1 month\n")).split("\n");
  assert.deepEqual(drawn.slice(0, 4), [
    "1 month",
    "  requests 1,204, input 18.6M,",
    "  cached 3,000, output 512, cost $0.01,",
    "  resets in 10 d 12 h",
  ]);
});

Deno.test("usage --json prints the gateway's whole response in one line", async () => {
  const report = { ...REPORT, of_a_newer_gateway: true };
  const { code, out } = await ownUsage({
    args: ["--json"],
    answer: () => Response.json(report),
  });
  assert.equal(code, 0);
  assert.equal(out, `${JSON.stringify(report)}\n`);
});

Deno.test("usage reads from the gateway that the options or the environment name", async () => {
  const env = { MODEL_GATEWAY_URL: "http://env.test/v1" };
  const [first] = (await ownUsage({ env })).requests;
  assert.equal(first?.url, "http://env.test/v1/usage");
  const args = ["--url", "http://option.test", "--token", "other"];
  const [second] = (await ownUsage({ env, args })).requests;
  assert.equal(second?.url, "http://option.test/v1/usage");
  assert.equal(second.headers.get("authorization"), "Bearer other");
});

Deno.test("usage prints in one line why the gateway's usage cannot be read, with exit code 1", async (t) => {
  const cases: Readonly<Record<string, [() => Promise<Response>, RegExp]>> = {
    "a token that is unknown": [
      () =>
        Promise.resolve(
          Response.json({ error: { message: "It has expired" } }, {
            status: 401,
          }),
        ),
      /: the gateway responded with HTTP 401\. It has expired\.\n$/,
    ],
    "no gateway": [
      () => Promise.reject(new TypeError("refused")),
      /: nothing answers there/,
    ],
    "a window without its usage": [
      () =>
        Promise.resolve(
          Response.json({ ...REPORT, windows: [{ window: "day" }] }),
        ),
      /: the server there is not a Model Gateway/,
    ],
    "another body": [
      () => Promise.resolve(Response.json({ object: "list", data: [] })),
      /: the server there is not a Model Gateway/,
    ],
  };
  await steps(t, Object.entries(cases), async ([, [answer, expected]]) => {
    const { code, out, error } = await ownUsage({ answer });
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(error, /^Cannot read http:\/\/127\.0\.0\.1:8787\/v1\/usage/);
    assert.match(error, expected);
  });
});

Deno.test("usage rejects options for logs if no log is named, and options for a gateway if a log is named", async (t) => {
  const cases: readonly [Run, RegExp][] = [
    [
      { args: ["--by", "model"] },
      /: --by, --from, --to and --csv need a LOG\. To add up/,
    ],
    [{ args: ["--to", "2026-11-30"] }, /--to and --csv need a LOG/],
    [{ args: ["--csv"] }, /need a LOG\. .*, or - for standard input\.\n/],
    [
      { env: { MODEL_GATEWAY_TOKEN: "" } },
      /: there is no token\. Set MODEL_GATEWAY_TOKEN or use --token\. To add up a log, name its file, or - for standard input\.\n/,
    ],
    [{ args: ["--url", "nowhere"] }, /: --url must be the address/],
    [
      { args: ["a.jsonl", "--token", "x"] },
      /: --url and --token are for a gateway\. Leave them out to add up a LOG\.\n/,
    ],
  ];
  for (const [run, complaint] of cases) {
    await t.step(String(complaint), async () => {
      const { code, error, requests } = await ownUsage(run);
      assert.equal(code, 2);
      assert.match(error, complaint);
      assert.equal(requests.length, 0);
    });
  }
});

Deno.test("usage removes the gateway's control characters", async () => {
  const evil = "\x1b[2Jevil\u202e";
  const report = usageReport(groupLimit(1, { group: evil, window: evil }));
  const { out } = await ownUsage({
    answer: () =>
      Response.json({
        ...report,
        token: evil,
        since: evil,
        windows: report.windows.map((one) => ({ ...one, window: evil })),
      }),
  });
  assert.doesNotMatch(out, /[^\P{C}\n]/u);
  assert.match(out, /evil/);
});
