import assert from "node:assert/strict";
import { runLimits } from "../../../src/tools/limits/command.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import {
  entryOf,
  everyState,
  listOf,
  NOON_MS,
} from "../../support/wire/limits_list.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startProcess } from "../../support/program/process.ts";
import { steps } from "../../support/steps.ts";

const TOKEN = "mg_secret-of-alice";

type Answer = (request: Request) => Response | Promise<Response>;

interface Run {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly answer?: Answer;
  /** The response to `GET /usage`; by default, a 404. */
  readonly usage?: Answer;
  readonly columns?: number | undefined;
  /** The number of waits that end; the run stops at the last one. */
  readonly waits?: number;
  /** False when the output is closed. */
  readonly isRead?: boolean;
}

/** Runs `limits` against a gateway with the given responses. `code` is undefined while it still watches. */
async function limits(
  {
    args = [],
    env = {},
    answer = good,
    usage = none,
    columns,
    waits = 0,
    isRead = true,
  }: Run = {},
) {
  const io = createMemoryIo({ MODEL_GATEWAY_TOKEN: TOKEN, ...env });
  const requests: Request[] = [];
  const usageRequests: Request[] = [];
  const waitsMs: number[] = [];
  const stopped = Promise.withResolvers<undefined>();
  const code = await Promise.race([
    runLimits(args, {
      ...io,
      write: (text) => io.write(text) && isRead,
      fetch: async (input, init) => {
        const request = new Request(input, init);
        if (request.url.endsWith("/usage")) {
          usageRequests.push(request);
          return await usage(request);
        }
        requests.push(request);
        return await answer(request);
      },
      deadline: () => new AbortController().signal,
      now: () => NOON_MS,
      wait: (ms) => {
        waitsMs.push(ms);
        if (waitsMs.length < waits) return Promise.resolve();
        stopped.resolve(undefined);
        return new Promise(() => {});
      },
      columns: () => columns,
    }),
    stopped.promise,
  ]);
  const [out, error] = [io.written(), io.complained()];
  assert.ok(!(out + error).includes(TOKEN));
  return { code, requests, usageRequests, waitsMs, out, error };
}

function none(): Response {
  return Response.json({ error: { message: "No such path" } }, { status: 404 });
}

function good(): Response {
  return Response.json(everyState());
}

/** Returns each response in turn, and then the last one again. */
function inTurn(...answers: readonly Answer[]): Answer {
  let count = 0;
  return (request) => {
    const answer = answers[Math.min(count++, answers.length - 1)];
    return answer === undefined ? good() : answer(request);
  };
}

/** Returns a response of `GET /usage` with the first window of the list. */
function usageOf(percent: number | null): Response {
  const [entry] = everyState().data;
  const [window] = entry?.limits ?? [];
  return Response.json({
    object: "usage",
    connections: [{
      provider_id: entry?.provider_id,
      limits: [{
        type: window?.type,
        window: window?.window,
        your_percent: percent,
      }],
    }],
  });
}

Deno.test("limits shows the token's own use of a window if the gateway reports it", async () => {
  const { code, out, usageRequests: requests } = await limits({
    usage: () => usageOf(12.34),
  });
  assert.equal(code, 0);
  assert.match(out, /% used, 12\.3% by you[ ,]/);
  assert.equal(out.match(/by you/g)?.length, 1);
  assert.equal(requests[0]?.url, "http://127.0.0.1:8787/v1/usage");
  assert.equal(requests[0]?.headers.get("authorization"), `Bearer ${TOKEN}`);
  assert.equal(requests[0]?.redirect, "manual");
});

Deno.test("limits draws the limits of the token and of its group above the quotas", async () => {
  const { code, out } = await limits({
    usage: () => Response.json(usageReport(ownLimit(), groupLimit(50))),
    columns: 140,
    env: { NO_COLOR: "1" },
  });
  assert.equal(code, 0);
  assert.match(
    out,
    /^Your token .*\n +1 day tokens .*\n\nGroup interns .*\n +1 month money +░+ +\$0\.00 of \$50\.00 left +100% used .* used up\n\nGLM team/,
  );
});

Deno.test("limits draws the quotas even when the token's own use cannot be read", async () => {
  const plain = await limits();
  const answers: readonly Answer[] = [
    () => usageOf(null),
    () => new Response("<html>", { status: 404 }),
    () => Response.json({ connections: [null, { limits: [3, {}] }] }),
    () => Response.json([]),
    () => {
      throw new TypeError("connection reset");
    },
  ];
  for (const answer of answers) {
    const { code, out, error } = await limits({ usage: answer });
    assert.equal(code, 0);
    assert.equal(error, "");
    assert.equal(out, plain.out);
  }
});

Deno.test("limits draws the quotas of the gateway on this machine", async () => {
  const { code, out, error, requests } = await limits();
  assert.equal(code, 0);
  assert.equal(error, "");
  assert.match(out, /^GLM team {2}Z\.ai, checked 12 s ago/);
  assert.match(out, /1 week credits +░+ +0 of 10,000 left +100\.1% used/);
  assert.equal(requests[0]?.url, "http://127.0.0.1:8787/v1/limits");
  assert.equal(requests[0]?.headers.get("authorization"), `Bearer ${TOKEN}`);
  assert.equal(requests[0]?.redirect, "manual");
  assert.equal(requests.length, 1);
});

Deno.test("limits accepts an address with or without its prefix", async (t) => {
  const list = "http://gw.test:8080/v1/limits";
  const urls = {
    "http://gw.test:8080": list,
    "http://gw.test:8080/": list,
    "http://gw.test:8080/v1": list,
    "http://gw.test:8080/v1/": list,
    "http://gw.test:8080/v1/limits": list,
    "http://gw.test:8080/api/v1": "http://gw.test:8080/api/v1/limits",
    "https://gw.test/ai": "https://gw.test/ai/v1/limits",
  };
  await steps(t, Object.entries(urls), async ([url, expected]) => {
    const { requests } = await limits({ args: ["--url", url] });
    assert.equal(requests[0]?.url, expected);
  });
});

Deno.test("limits reads address and token from the environment unless options name them", async () => {
  const env = {
    MODEL_GATEWAY_URL: "http://env.test",
    MODEL_GATEWAY_TOKEN: "env-token",
  };
  const [fromEnv] = (await limits({ env })).requests;
  assert.equal(fromEnv?.url, "http://env.test/v1/limits");
  assert.equal(fromEnv?.headers.get("authorization"), "Bearer env-token");
  const args = ["--url=http://option.test", "--token=option-token"];
  const [fromOptions] = (await limits({ env, args })).requests;
  assert.equal(fromOptions?.url, "http://option.test/v1/limits");
  assert.equal(
    fromOptions?.headers.get("authorization"),
    "Bearer option-token",
  );
});

Deno.test("limits --json prints the whole list in one line", async () => {
  const list = { ...everyState(), of_a_newer_gateway: true };
  const { code, out } = await limits({
    args: ["--json"],
    answer: () => Response.json(list),
    columns: 80,
  });
  assert.equal(code, 0);
  assert.equal(out, `${JSON.stringify(list)}\n`);
});

Deno.test("limits writes colours to a terminal with colours", async (t) => {
  const cases: readonly [string, Run, boolean][] = [
    ["a terminal", { columns: 100, env: { TERM: "xterm" } }, true],
    ["a file", {}, false],
    ["NO_COLOR", { columns: 100, env: { NO_COLOR: "1" } }, false],
    ["NO_COLOR without a value", { columns: 100, env: { NO_COLOR: "" } }, true],
    ["a dumb terminal", { columns: 100, env: { TERM: "dumb" } }, false],
  ];
  await steps(t, cases, async ([, run, isColoured]) => {
    const { out } = await limits(run);
    assert.equal(out.includes("\x1b["), isColoured);
  });
});

Deno.test("limits prints the reason for a failure in one line, with exit code 1", async (t) => {
  const error = (status: number, message: string) => () =>
    Response.json({ error: { message, type: "x" } }, { status });
  const cases: readonly [string, Answer, RegExp][] = [
    [
      "unreachable",
      () => Promise.reject(new TypeError("connection refused")),
      /: nothing answers there\. Check that the gateway runs, and the address in --url or MODEL_GATEWAY_URL\.$/,
    ],
    [
      "a certificate that is not trusted",
      () =>
        Promise.reject(
          new TypeError("fetch failed", {
            cause: new Error("invalid peer certificate: UnknownIssuer"),
          }),
        ),
      /: a server is there, but its certificate is not trusted here\. Set DENO_CERT to the PEM file of its authority\.$/,
    ],
    [
      "too late",
      () => Promise.reject(new DOMException("", "TimeoutError")),
      /: no response came within 30 s\.$/,
    ],
    [
      "token unknown",
      error(401, "Cannot accept this token"),
      /: the gateway responded with HTTP 401\. Cannot accept this token\.$/,
    ],
    [
      "504",
      error(504, "Reading the provider limits took longer"),
      /: the providers took longer than the gateway waits/,
    ],
    [
      "503",
      error(503, "Cannot serve now:\n\x1b[31mdraining"),
      /: the gateway responded with HTTP 503\. Cannot serve now: \[31mdraining\.$/,
    ],
    [
      "404 of another gateway",
      error(404, "Cannot find this path"),
      /: the gateway responded with HTTP 404\. Cannot find this path\.$/,
    ],
    [
      "404 of no gateway",
      () => new Response("<h1>Not found</h1>", { status: 404 }),
      /: the server there is not a Model Gateway \(HTTP 404\)/,
    ],
    [
      "a web page",
      () => new Response("<h1>Hello</h1>"),
      /: the server there is not a Model Gateway \(HTTP 200\)/,
    ],
    [
      "a redirect",
      () => Response.redirect("http://elsewhere.test/", 302),
      /: the server there is not a Model Gateway \(HTTP 302\)/,
    ],
    [
      "no list",
      () => Response.json({ object: "list", data: [] }),
      /not a Model Gateway/,
    ],
    [
      "a broken entry",
      () => Response.json({ ...listOf(), data: [{ name: 1 }] }),
      /not a Model Gateway/,
    ],
    [
      "a broken window",
      () =>
        Response.json({
          ...listOf(),
          data: [{ ...entryOf("one"), limits: [{ used: "1" }] }],
        }),
      /not a Model Gateway/,
    ],
  ];
  await steps(t, cases, async ([, answer, expected]) => {
    const { code, out, error } = await limits({ answer });
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(
      error,
      /^Cannot read http:\/\/127\.0\.0\.1:8787\/v1\/limits: .*\n$/,
    );
    assert.match(error.trimEnd(), expected);
  });
});

Deno.test("limits rejects bad arguments with exit code 2 and does not repeat them", async (t) => {
  const cases: readonly [string, Run, string][] = [
    ["unknown option", { args: ["--colour"] }, "there is no option --colour."],
    [
      "unknown option with a value",
      { args: [`--tokn=${TOKEN}`] },
      'there is no option --tokn. Did you mean "--token"?',
    ],
    [
      "stray word",
      { args: [TOKEN] },
      "it takes options only.",
    ],
    [
      "no token",
      { env: { MODEL_GATEWAY_TOKEN: "" } },
      "there is no token. Set MODEL_GATEWAY_TOKEN or use --token.",
    ],
    [
      "empty token",
      { args: ["--token="] },
      "--token needs a value (TOKEN).",
    ],
    [
      "token of two words",
      { args: [`--token=${TOKEN} b`] },
      "the token must consist of printable ASCII characters without spaces.",
    ],
    ...[
      "gw.test:8787",
      "ftp://gw.test",
      `http://${TOKEN}:x@gw.test`,
      `http://gw.test/?key=${TOKEN}`,
      "http://gw.test/#x",
    ]
      .map((url): [string, Run, string] => [
        `--url=${url.replace(TOKEN, "…")}`,
        { args: [`--url=${url}`] },
        "--url must be the address of a gateway (for example http://127.0.0.1:8787).",
      ]),
  ];
  await steps(t, cases, async ([, run, fault]) => {
    const { code, out, error, requests } = await limits(run);
    assert.equal(code, 2);
    assert.equal(out, "");
    assert.equal(
      error,
      `Cannot run limits: ${fault}\n` +
        "usage: model-gateway limits [--url URL] [--token TOKEN] [--json] [--watch]\n" +
        "Run model-gateway limits --help for more.\n",
    );
    assert.equal(requests.length, 0);
  });
});

Deno.test("limits --watch reads again as often as the gateway allows", async (t) => {
  const cases = {
    60: 60_000,
    5: 5_000,
    0: 1_000,
    "-3": 1_000,
    1e12: 86_400_000,
  };
  for (const [seconds, expected] of Object.entries(cases)) {
    await t.step(`${seconds} s`, async () => {
      const list = { ...listOf(), refresh_after_seconds: Number(seconds) };
      const { code, requests, waitsMs } = await limits({
        args: ["--watch"],
        answer: () => Response.json(list),
        waits: 3,
      });
      assert.equal(code, undefined);
      assert.deepEqual(waitsMs, [expected, expected, expected]);
      assert.equal(requests.length, 3);
    });
  }
});

Deno.test("limits --watch redraws on a terminal, and appends elsewhere", async () => {
  const terminal = await limits({ args: ["--watch"], columns: 100, waits: 2 });
  assert.equal(terminal.out.split("\x1b[2J\x1b[H").length, 3);
  const file = await limits({ args: ["--watch"], waits: 2 });
  assert.equal(file.out.match(/^2026-11-20T12:00:00\.000Z$/gm)?.length, 2);
  const json = await limits({
    args: ["--watch", "--json"],
    columns: 100,
    waits: 2,
  });
  assert.deepEqual(
    json.out.trimEnd().split("\n").map((line) => JSON.parse(line)),
    [everyState(), everyState()],
  );
});

Deno.test("limits --watch continues after a temporary failure, and ends after a permanent one", async () => {
  const slow = listOf(entryOf("one"));
  const run = await limits({
    args: ["--watch"],
    answer: inTurn(
      () => Response.json({ ...slow, refresh_after_seconds: 90 }),
      () => new Response("Bad gateway", { status: 502 }),
      () => Promise.reject(new TypeError("refused")),
      () => Response.json({ error: { message: "busy" } }, { status: 429 }),
      () => new Response(null, { status: 401 }),
    ),
    waits: 9,
  });
  assert.equal(run.code, 1);
  assert.deepEqual(run.waitsMs, [90_000, 90_000, 90_000, 90_000]);
  assert.equal(run.error.trimEnd().split("\n").length, 4);
});

Deno.test("limits --watch ends when its output is closed, as by head", async () => {
  const run = await limits({ args: ["--watch"], waits: 2, isRead: false });
  assert.equal(run.code, 0);
  assert.equal(run.requests.length, 1);
});

const MAIN = [
  "run",
  "--allow-net",
  "--allow-read",
  "--allow-env",
  fromFileUrl(new URL("../../../src/tools/main.ts", import.meta.url)),
];

Deno.test("limits draws the demo's quotas from a separate process", async () => {
  const demo = await startProcess(Deno.execPath(), {
    args: [...MAIN, "demo", "--port", "0"],
  });
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...MAIN, "limits", "--url", `${demo.url}/v1`],
      env: { MODEL_GATEWAY_TOKEN: "demo-token", NO_COLOR: "1" },
    }).output();
    const drawn = new TextDecoder().decode(stdout);
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.match(
      drawn,
      /^Your token .*\n +1 day tokens +█+ +5,000,000 of 5,000,000 left/,
    );
    assert.match(drawn, /^Demo A {2}other provider, checked /m);
    assert.match(
      drawn,
      /1 week credits +█+░+ +[\d,]+ of 10,000 left +[\d.]+% used/,
    );
    assert.match(drawn, /^Demo C {2}/m);
  } finally {
    demo.kill("SIGTERM");
    await demo.ended;
  }
});
