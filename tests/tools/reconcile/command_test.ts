import { readReport } from "../../../src/tools/reconcile/reports.ts";
import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { Anthropic, OpenAI } from "../../support/sdk/sdks.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import { type LoggedLine, loggedLine } from "../../support/wire/logged_line.ts";
import {
  anthropicCost,
  anthropicUsage,
  type Charge,
  openaiCosts,
  openaiUsage,
  reportsOf,
} from "./ledger.ts";
import { reconcile } from "./run.ts";
import { steps } from "../../support/steps.ts";

const PRICE = { input: 5, cached_input: 0.5, cache_write: 6.25, output: 25 };

const LIST = {
  input: 5,
  cachedInput: 0.5,
  cacheWrite: 6.25,
  cacheWrite1h: 10,
  output: 25,
};

const DAY = "2026-11-20";

/** A charge of $10: 100,000 input tokens and 380,000 output tokens. */
const CHARGE: Charge = {
  day: DAY,
  model: "claude-opus-5-5-20260901",
  ...{ tier: "standard", geo: "global", speed: "standard", isLong: false },
  key: "apikey_1",
  tokens: {
    input: 100_000,
    cachedInput: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    output: 380_000,
  },
  prices: LIST,
  toolsUsd: 0,
};

/** The log line of the same request. */
const LOGGED = {
  time: `${DAY}T12:00:00.000Z`,
  model: "claude-opus-5-5",
  connection: "Claude",
  usage: { input_tokens: 100_000, output_tokens: 380_000 },
  cost_usd: 10,
};

interface Case {
  readonly bill: readonly Charge[];
  readonly log: readonly LoggedLine[];
  readonly args?: readonly string[];
  readonly service?: string;
  readonly price?: object;
  readonly columns?: number;
  /** The file of `--export`; by default, the reports come from the network. */
  readonly report?: string;
}

async function run(
  {
    bill,
    log,
    args = [],
    service = "anthropic",
    price = PRICE,
    columns,
    report,
  }: Case,
) {
  const folder = await Deno.makeTempDir();
  const file = minimalFile({
    connections: [connectionFile({
      ...{ name: "Claude", service, family: undefined, endpoints: undefined },
      models: [{ id: "claude-opus-5-5", price }],
    })],
  });
  const files = {
    "gateway.yaml": JSON.stringify(file),
    admin: "admin-key\n",
    "log.jsonl": log.map(loggedLine).join(""),
    report: report ?? "",
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  const host =
    { anthropic: "api.anthropic.com", openai: "api.openai.com" }[service] ??
      "openrouter.ai";
  const from = report === undefined ? "--admin-key-file" : "--export";
  const result = await reconcile([
    ...["--config", `${folder}/gateway.yaml`, "--from", DAY, "--to", DAY],
    ...[from, `${folder}/${report === undefined ? "admin" : "report"}`],
    ...args,
    `${folder}/log.jsonl`,
  ], {
    fetch: report === undefined
      ? reportsOf({ [host]: bill }, "admin-key")
      : () => assert.fail("An export needs no network"),
    ...columns && { columns },
  });
  await Deno.remove(folder, { recursive: true });
  return result;
}

/** Returns the causes that a comparison finds, with their dollars. */
async function causes(one: Case): Promise<readonly unknown[]> {
  const { out, error } = await run({
    ...one,
    args: ["--json", ...one.args ?? []],
  });
  assert.equal(error, "");
  return JSON.parse(out).data.flatMap((
    { causes }: { causes: { cause: string; usd: number; detail: string }[] },
  ) =>
    causes.map((
      { cause, usd, detail },
    ) => [cause, Math.round(usd * 100) / 100, ...detail ? [detail] : []])
  );
}

Deno.test("a bill that equals the log has no difference, and the exit code is 0", async () => {
  const { code, out } = await run({ bill: [CHARGE], log: [LOGGED] });
  assert.equal(
    out,
    `model              bill     log  difference
claude-opus-5-5  $10.00  $10.00       $0.00
all              $10.00  $10.00       $0.00

Difference 0.00 %, without a cause 0.00 %.
`,
  );
  assert.equal(code, 0);
});

Deno.test("a difference above the tolerance gives the exit code 1", async () => {
  const bill = [CHARGE, {
    ...CHARGE,
    tokens: { ...CHARGE.tokens, input: 0, output: 4_000 },
  }];
  const one = { bill, log: [LOGGED] };
  assert.equal((await run(one)).code, 1);
  assert.equal((await run({ ...one, args: ["--tolerance", "1"] })).code, 0);
  assert.equal((await run({ ...one, args: ["--tolerance", "0.9"] })).code, 1);
});

Deno.test("each cause of a difference is named with its dollars", async (t) => {
  const dear = { ...LIST, output: 30 };
  const us: Charge = {
    ...CHARGE,
    geo: "us",
    prices: { ...LIST, input: 5.5, output: 27.5 },
  };
  const usLine = { ...LOGGED, usage: { ...LOGGED.usage, inference_geo: "us" } };
  const cases: Readonly<Record<string, readonly [Case, readonly unknown[]]>> = {
    "somebody else uses the key": [
      { bill: [CHARGE, CHARGE], log: [LOGGED] },
      [["other_use", 10]],
    ],
    "an answer was cut": [
      {
        bill: [CHARGE],
        log: [{
          ...LOGGED,
          usage: {
            input_tokens: 100_000,
            output_tokens: 20_000,
            estimated: true,
          },
          cost_usd: 1,
        }],
      },
      [["no_usage", 9]],
    ],
    "a provider worked on, although the gateway asked another": [
      {
        bill: [CHARGE, CHARGE],
        log: [LOGGED, {
          ...LOGGED,
          connection: "Other",
          attempts: [
            {
              connection: "Claude",
              model: "claude-opus-5-5",
              failure: "silent",
              ms: 1,
            },
            { connection: "Other", model: "x", status: 200, ms: 1 },
          ],
        }],
      },
      [["no_usage", 10]],
    ],
    "an unreachable provider is no cause": [
      {
        bill: [CHARGE, CHARGE],
        log: [LOGGED, {
          ...LOGGED,
          connection: "Other",
          attempts: [
            {
              connection: "Claude",
              model: "claude-opus-5-5",
              failure: "unreachable",
              ms: 1,
            },
            { connection: "Other", model: "x", status: 200, ms: 1 },
          ],
        }],
      },
      [["other_use", 10]],
    ],
    "the model has no price": [
      { bill: [CHARGE], log: [{ ...LOGGED, cost_usd: undefined }] },
      [["no_price", 10]],
    ],
    "a region has no rate": [
      { bill: [us], log: [usLine] },
      [["missing_rate", 1, "{ when: { inference_geo: us }, times: 1.1 }"]],
    ],
    "the price changed": [
      { bill: [{ ...CHARGE, prices: dear }], log: [LOGGED] },
      [["price_changed", 1.9, "output: 30"]],
    ],
    "the price changed for a region that has a rate, too": [
      {
        bill: [CHARGE, { ...us, prices: { ...LIST, input: 5.5, output: 33 } }]
          .map((one) => one.geo === "us" ? one : { ...one, prices: dear }),
        log: [LOGGED, { ...usLine, cost_usd: 11 }],
        price: {
          ...PRICE,
          rates: [{ when: { inference_geo: "us" }, times: 1.1 }],
        },
      },
      [["price_changed", 1.9, "output: 30"], [
        "price_changed",
        2.09,
        "output: 33",
      ]],
    ],
    "the log has the price of an older configuration": [
      { bill: [CHARGE], log: [{ ...LOGGED, cost_usd: 8 }] },
      [["price_changed", 2, "the log was written with older prices"]],
    ],
    "the provider's tools": [
      { bill: [{ ...CHARGE, toolsUsd: 0.5 }], log: [LOGGED] },
      [["tools", 0.5]],
    ],
    "a request is not on the bill": [
      { bill: [CHARGE], log: [LOGGED, LOGGED] },
      [["not_billed", -10]],
    ],
    "the bill does not set long prompts apart": [
      {
        bill: [{ ...CHARGE, tokens: { ...CHARGE.tokens, input: 300_000 } }],
        log: [{
          ...LOGGED,
          usage: { ...LOGGED.usage, input_tokens: 300_000 },
          cost_usd: 11,
        }],
      },
      [],
    ],
    "a refusal that is free": [
      {
        bill: [CHARGE],
        log: [LOGGED, {
          ...LOGGED,
          usage: { input_tokens: 900, output_tokens: 0, refusal: "cyber" },
          cost_usd: 0,
        }],
      },
      [],
    ],
    "the provider counts other tokens": [
      {
        bill: [{ ...CHARGE, tokens: { ...CHARGE.tokens, input: 2e6 } }],
        log: [LOGGED],
      },
      [],
    ],
  };
  await steps(t, Object.entries(cases), async ([, [one, expected]]) => {
    const found = await causes(one);
    assert.deepEqual(found, expected);
  });
});

Deno.test("requests without a cost do not count as a changed price, even in a bill with one sum for a model", async () => {
  const bill = [CHARGE, {
    ...CHARGE,
    tokens: { ...CHARGE.tokens, input: 2_000_000, output: 0 },
  }];
  const log = [LOGGED, {
    ...LOGGED,
    usage: { input_tokens: 2_000_000, output_tokens: 0 },
    cost_usd: undefined,
  }];
  assert.deepEqual(await causes({ bill, log, service: "openrouter" }), [
    ["no_price", 10],
  ]);
});

Deno.test("the table shows a difference below half a cent as $0.00", async () => {
  const log = [{ ...LOGGED, cost_usd: 9.9999 }];
  const { out } = await run({ bill: [CHARGE], log });
  assert.match(out, /^all +\$10\.00 +\$10\.00 +\$0\.00$/m);
});

Deno.test("a request counts on the day on which it began", async () => {
  const late = { ...LOGGED, time: "2026-11-21T00:00:01.000Z", total_ms: 5000 };
  assert.deepEqual(await causes({ bill: [CHARGE], log: [late] }), []);
});

Deno.test("--key-id leaves out the use of other keys", async () => {
  const one = { bill: [CHARGE, { ...CHARGE, key: "apikey_2" }], log: [LOGGED] };
  assert.deepEqual(await causes(one), [["other_use", 10]]);
  assert.deepEqual(
    await causes({ ...one, args: ["--key-id", "apikey_1"] }),
    [],
  );
});

Deno.test("--export reads reports without a network", async () => {
  const pages = [
    anthropicCost([CHARGE, CHARGE]),
    anthropicUsage([CHARGE, CHARGE]),
  ]
    .map((data) =>
      JSON.stringify({ data, has_more: false, next_page: null }, null, 2)
    );
  assert.deepEqual(
    await causes({ bill: [], log: [LOGGED], report: pages.join("") }),
    [["other_use", 10]],
  );
  const buckets = [openaiCosts([CHARGE]), openaiUsage([CHARGE])]
    .map((data) => JSON.stringify({ object: "page", data }));
  assert.deepEqual(
    await causes({
      bill: [],
      log: [LOGGED],
      service: "openai",
      report: buckets.join("\n"),
    }),
    [],
  );
});

Deno.test("the spreadsheet has a column for each cause", async () => {
  const { out } = await run({
    bill: [CHARGE, CHARGE],
    log: [LOGGED],
    args: ["--csv"],
  });
  assert.equal(
    out,
    "connection,day,model,provider_usd,log_usd,other_use,no_usage,no_price,missing_rate,price_changed,tools,not_billed,unexplained\r\n" +
      `Claude,${DAY},claude-opus-5-5,20,10,10,0,0,0,0,0,0,0\r\n`,
  );
});

Deno.test("a terminal shows the page and the log being read", async () => {
  const { error } = await run({ bill: [CHARGE], log: [LOGGED], columns: 80 });
  const shown = error.replaceAll(/\S+log\.jsonl/g, "log.jsonl").split("\r");
  assert.deepEqual(shown.map(stripVTControlCharacters), [
    "",
    "Reading Anthropic's page 1",
    "Reading Anthropic's page 2",
    "Reading log.jsonl",
    "",
  ]);
});

Deno.test("errors of the bill do not show the key", async (t) => {
  const cases: Readonly<Record<string, readonly [Partial<Case>, RegExp]>> = {
    "a usual key": [
      { service: "openrouter" },
      /^Cannot read the bill of OpenRouter: \/api\/v1\/activity answers 401\. It needs an administrator's key\.\n$/,
    ],
    "a page without the next one": [
      { report: '{"data": [], "has_more": true, "next_page": "2"}' },
      /^Cannot read the bill of Anthropic: its last page is missing\.\n$/,
    ],
    "another file": [
      { report: '{"hello": 1}' },
      /^Cannot read the bill of Anthropic: it is no page of a provider's cost report\.\n$/,
    ],
  };
  await steps(t, Object.entries(cases), async ([, [one, expected]]) => {
    const folder = await Deno.makeTempDir();
    await Deno.writeTextFile(`${folder}/admin`, "wrong-key");
    const more = one.report === undefined
      ? ["--admin-key-file", `${folder}/admin`]
      : [];
    const { code, error } = await run({
      bill: [],
      log: [],
      args: more,
      ...one,
    });
    await Deno.remove(folder, { recursive: true });
    assert.equal(code, 1);
    assert.match(error, expected);
  });
});

Deno.test("a bill of OpenRouter older than 30 days is refused", async () => {
  const { code, error } = await run({
    bill: [],
    log: [],
    service: "openrouter",
    args: ["--from", "2026-10-25", "--to", "2026-10-26"],
  });
  assert.match(error, /it reports only the last 30 days\.\n$/);
  assert.equal(code, 1);
});

Deno.test("reconcile rejects arguments that it cannot compare, and names the rule", async (t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    "--from and --to must be days": ["--from", "yesterday"],
    "31 days at most": ["--from", "2026-10-01"],
    "--to must be a day that is over": ["--to", "2026-11-26"],
    "it needs either": ["--export", "report"],
    "--tolerance must be a number": ["--tolerance", "few"],
    "exclude each other": ["--json", "--csv"],
    "no such connection is to": ["--connection", "GLM"],
  };
  await steps(t, Object.entries(cases), async ([message, args]) => {
    const { code, error } = await run({ bill: [], log: [], args });
    assert.ok(error.includes(message), error);
    assert.equal(code, 2);
  });
});

Deno.test("the requests for reports equal the requests of the providers' SDKs", async () => {
  const asked: string[] = [];
  const note: typeof fetch = (input, init) => {
    const { pathname, searchParams } = new URL(
      input instanceof Request ? input.url : input,
    );
    searchParams.sort();
    const headers = new Headers(init?.headers);
    const sent = ["x-api-key", "authorization", "anthropic-beta"]
      .flatMap((name) => headers.get(name)?.replace("Bearer ", "") ?? []);
    asked.push([pathname, searchParams, ...sent].join(" "));
    return Promise.resolve(
      Response.json({
        object: "page",
        data: [],
        has_more: false,
        next_page: null,
      }),
    );
  };
  const starting_at = "2026-11-20T00:00:00.000Z";
  const ending_at = "2026-11-21T00:00:00.000Z";
  const claude =
    new Anthropic({ apiKey: "key", fetch: note }).beta.organization.analytics;
  const common = {
    starting_at,
    ending_at,
    time_bucket_width: "1d",
    order_by: "time",
    limit: 1000,
  } as const;
  const api_key_ids = ["id"];
  const parts = [
    "model",
    "service_tier",
    "inference_geo",
    "speed",
    "context_window",
  ] as const;
  await claude.cost.list({
    ...{ ...common, api_key_ids },
    group_by: ["cost_type", "token_type", ...parts],
  });
  await claude.usage.list({ ...common, api_key_ids, group_by: [...parts] });
  const gpt =
    new OpenAI({ apiKey: "key", adminAPIKey: "key", fetch: note }).admin
      .organization.usage;
  const range = {
    start_time: Date.parse(starting_at) / 1000,
    end_time: Date.parse(ending_at) / 1000,
    bucket_width: "1d",
    limit: 31,
  } as const;
  await gpt.costs({ ...range, api_key_ids, group_by: ["line_item"] });
  await gpt.completions({ ...range, api_key_ids, group_by: ["model"] });
  const expected = asked.splice(0);
  assert.equal(expected.length, 4);
  for (const service of ["anthropic", "openai"]) {
    await fetchReports(service, note);
  }
  assert.deepEqual(asked, expected);
});

Deno.test("a page that a provider names twice is an error", async () => {
  for (const service of ["anthropic", "openai"]) {
    const page = { data: [], has_more: true, next_page: "2" };
    let requests = 0;
    const { code, error } = await fetchReports(service, () => {
      if (++requests > 9) return Promise.reject(new Error("it never ends"));
      return Promise.resolve(Response.json(page));
    });
    assert.equal(code, 1);
    assert.match(error, /names a page twice/);
    assert.equal(requests, 2);
  }
});

Deno.test("endless pages or lines of a provider are an error", async (t) => {
  const line = {
    starting_at: `${DAY}T00:00:00Z`,
    group: { model: "m" },
    cost: { amount: "1" },
  };
  const cases: Readonly<Record<string, readonly [unknown[], number]>> = {
    pages: [[], 500],
    lines: [Array(10_000).fill(line), 101],
  };
  await steps(t, Object.entries(cases), async ([, [data, pages]]) => {
    let requests = 0;
    const { code, error } = await fetchReports("anthropic", () => {
      const page = { data, has_more: true, next_page: `${++requests}` };
      return Promise.resolve(Response.json(page));
    });
    assert.equal(code, 1);
    assert.equal(
      error,
      `Cannot read the bill of Anthropic: /v1/organizations/analytics/cost has no end after ${pages} pages.\n`,
    );
    assert.equal(requests, pages);
  });
});

/** Runs `reconcile` with an administrator's key and the given `fetch`. */
async function fetchReports(service: string, fetch: typeof globalThis.fetch) {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/admin`, "key");
  await Deno.writeTextFile(`${folder}/log`, loggedLine());
  const connection = connectionFile({
    service,
    family: undefined,
    endpoints: undefined,
  });
  await Deno.writeTextFile(
    `${folder}/gateway.yaml`,
    JSON.stringify(minimalFile({ connections: [connection] })),
  );
  const ended = await reconcile([
    ...["--config", `${folder}/gateway.yaml`, "--from", DAY, "--to", DAY],
    ...["--admin-key-file", `${folder}/admin`, "--key-id", "id"],
    `${folder}/log`,
  ], { fetch });
  await Deno.remove(folder, { recursive: true });
  return ended;
}

const UNREADABLE = [
  null,
  [],
  ["1"],
  true,
  {},
  "",
  " 1",
  "0x10",
  "1e3",
  "1e308",
  1e308,
  "Infinity",
  "NaN",
  "1,5",
];

Deno.test("an amount that is not a decimal number is an error that names its line", async (t) => {
  const group = { model: "claude-x", token_type: "output_tokens" };
  const reports: Readonly<Record<string, (amount: unknown) => unknown>> = {
    "Anthropic": (amount: unknown) => ({
      ...{ starting_at: "2026-11-21T00:00:00Z", group, cost: { amount } },
    }),
    "OpenAI": (value: unknown) => ({
      start_time: Date.UTC(2026, 10, 21) / 1000,
      results: [{ amount: { value }, line_item: "claude-x, output" }],
    }),
    "OpenRouter": (usage: unknown) => ({
      ...{ date: "2026-11-21", model: "claude-x", usage },
    }),
  };
  for (const [name, line] of Object.entries(reports)) {
    await t.step(name, () => {
      const read = (...amounts: readonly unknown[]) =>
        readReport(JSON.stringify({ data: amounts.map((one) => line(one)) }));
      for (const amount of UNREADABLE) {
        assert.throws(
          () => read("1.5", amount),
          /these amounts are not decimal numbers: 2026-11-21 claude-x$/,
          JSON.stringify(amount),
        );
      }
      for (const amount of ["12.50", "-3", 0.25, 1e-7, "0"]) {
        const [found] = read(amount);
        const unit = name === "Anthropic" ? 100 : 1;
        assert.equal(found?.usd, Number(amount) / unit);
      }
    });
  }
});
