import assert from "node:assert/strict";
import { createLog } from "../../../src/gateway/observe/log.ts";
import { readLogLine } from "../../../src/gateway/observe/logged_request.ts";
import { REQUEST_FIELDS } from "../../../src/gateway/observe/log_fields.ts";
import { openRecord } from "../../../src/gateway/observe/record.ts";
import { endRequest } from "../../../src/gateway/relay/end_request.ts";
import { Holds } from "../../../src/gateway/relay/exchange.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import type { EventFields } from "../../../src/gateway/observe/log_events.ts";
import {
  type PaintLine,
  textLine,
} from "../../../src/gateway/observe/text_line.ts";

const NOON_MS = Date.UTC(2026, 10, 21, 12);

/** Returns the gateway's line for a request with these facts, without its line feed. */
function written(
  facts: object,
  ending: "complete" | "client_abort" | "upstream_broken" | "error" =
    "complete",
): string {
  let text = "";
  const log = createLog({
    format: "json",
    now: () => NOON_MS,
    sink: (line) => text += line,
  });
  const record = openRecord("req_1", "POST", {
    clock: createFakeClock(0),
    log,
  });
  Object.assign(record.facts, facts);
  endRequest({ record, holds: new Holds() }, ending);
  return text.trimEnd();
}

const FACTS = {
  caller: "alice",
  model: "glm-fast",
  connection: "GLM team",
  status: 200,
  answer: {
    usage: {
      inputTokens: 100,
      cachedInputTokens: 60,
      cacheWriteTokens: 30,
      outputTokens: 20,
      reasoningTokens: 5,
    },
  },
};

const READ = {
  time: "2026-11-21T12:00:00.000Z",
  token: "alice",
  tokenGroup: undefined,
  attribution: {},
  model: "glm-fast",
  connection: "GLM team",
  session: undefined,
  isFailed: false,
  inputTokens: 100,
  cachedInputTokens: 60,
  cacheWriteTokens: 30,
  cacheWrite1hTokens: 0,
  outputTokens: 20,
  reasoningTokens: 5,
  isEstimated: false,
  costUsd: undefined,
  totalMs: 0,
  speed: undefined,
  serviceTier: undefined,
  inferenceGeo: undefined,
  refusal: undefined,
  unanswered: [],
  cacheMiss: undefined,
  others: [],
};

const NO_TOKENS = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

const LINE = written(FACTS);

/** Returns the line with other fields. */
function changed(fields: object): string {
  return JSON.stringify({ ...JSON.parse(LINE), ...fields });
}

/** A value of every fact. */
const EVERYTHING = {
  caller: "alice",
  callerGroup: "platform, research",
  attribution: { "x-project": "blue" },
  route: "/v1/messages",
  bodyProtocol: "chat",
  model: "glm-fast",
  alias: "fast",
  upstreamModel: "glm-5",
  connection: "GLM team",
  region: "eu",
  mode: "translated",
  moved: { from: "Claude", why: "cooling_down" },
  waitedMs: 1.23456,
  waitedFor: "concurrency",
  attempts: [
    {
      connection: "Claude",
      model: "claude",
      startedMs: 1,
      failed: { why: "trouble", status: 529, atMs: 3.5 },
    },
    { connection: "GLM team", model: "glm-fast", startedMs: 4 },
  ],
  status: 200,
  bytesIn: 10,
  bytesOut: 20,
  answer: {
    firstByteMs: 12.34567,
    firstOutputMs: 20,
    substitute: "glm-4",
    served: { id: "glm-slow", upstream: "glm-4" },
    usage: {
      ...FACTS.answer.usage,
      cacheWrite1hTokens: 10,
      speed: "fast",
      serviceTier: "flex",
      inferenceGeo: "eu",
      refusal: "other",
    },
    isUsageEstimated: true,
    costNanos: 1_234_567,
    byModel: [{
      model: "glm-slow",
      usage: { inputTokens: 90, outputTokens: 20 },
      costNanos: 1_000_000,
    }],
    cacheMiss: {
      why: "edited",
      at: "messages[4]",
      tokens: 50,
      costNanos: 500_000,
    },
    dropped: ["top_k"],
    lessons: ["no top_k"],
    reasoningDropped: ["refused"],
    droppedParts: ["citation"],
    upstreamRequestId: "up_1",
    upstreamStatus: 200,
  },
  error: "overloaded",
  failure: "trouble",
  reason: "it is busy",
  limit: "tokens day",
  group: "platform",
  client: { session: "s1", agent: "a1", requestId: "r1" },
};

/** The line for {@linkcode EVERYTHING}. Collectors and older gateways read it. */
const GOLDEN = [
  '{"time":"2026-11-21T12:00:00.000Z","level":"warn","event":"request","request_id":"req_1",',
  '"token":"alice",',
  '"token_group":"platform, research","attribution":{"x-project":"blue"},"method":"POST",',
  '"route":"/v1/messages","body_protocol":"chat","model":"glm-fast",',
  '"alias":"fast","served_model":"glm-slow","upstream_model":"glm-5","substitute_model":"glm-4",',
  '"connection":"GLM team","region":"eu","mode":"translated",',
  '"moved_from":"Claude","moved_for":"cooling_down","waited_ms":1.235,"waited_for":"concurrency",',
  '"attempts":[{"connection":"Claude","model":"claude","status":529,"failure":"trouble","ms":2.5},{"connection":"GLM team","model":"glm-fast","status":200,"ms":8.346}],',
  '"status":200,"bytes_in":10,"bytes_out":20,"first_byte_ms":12.346,"first_output_ms":20,',
  '"usage":{"input_tokens":100,"cached_input_tokens":60,"cache_write_tokens":30,"cache_write_1h_tokens":10,"output_tokens":20,"reasoning_tokens":5,"speed":"fast","service_tier":"flex","inference_geo":"eu","refusal":"other","estimated":true},',
  '"cost_usd":0.001234567,',
  '"by_model":[{"model":"glm-slow","input_tokens":90,"output_tokens":20,',
  '"cost_usd":0.001}],',
  '"dropped":["top_k"],"lesson":["no top_k"],"reasoning_dropped":["refused"],"dropped_parts":["citation"],',
  '"upstream_request_id":"up_1","upstream_status":200,',
  '"error":"overloaded","failure":"trouble","reason":"it is busy",',
  '"limit":"tokens day","group":"platform","session":"s1","agent":"a1","client_request_id":"r1",',
  '"total_ms":0,"ended":"error"}',
].join("");

Deno.test("a request's line has its fields in their fixed order and form", () => {
  assert.equal(written(EVERYTHING, "error"), GOLDEN);
  const { time: _time, level: _level, event: _event, ...line } = JSON.parse(
    GOLDEN,
  );
  for (const name of Object.keys(line)) assert.ok(name in REQUEST_FIELDS, name);
});

Deno.test("readLogLine() reads the gateway's line of a request", () => {
  assert.deepEqual(readLogLine(LINE), READ);
  assert.deepEqual(readLogLine(`${LINE}\r`), READ);
});

Deno.test("readLogLine() reads the session, the cost, the cause of a cache miss and the mark of estimates", () => {
  const line = changed({
    session: "s-1",
    token_group: "platform",
    cost_usd: 0.25,
    cache_miss: "edited",
    cache_miss_at: "messages[4]",
    cache_miss_usd: 0.125,
    usage: { input_tokens: 7, output_tokens: 8, estimated: true },
    of_a_newer_gateway: [{ deep: 1 }],
  });
  assert.deepEqual(readLogLine(line), {
    ...READ,
    session: "s-1",
    tokenGroup: "platform",
    costUsd: 0.25,
    cacheMiss: { cause: "edited", part: "messages[4]", costUsd: 0.125 },
    ...NO_TOKENS,
    inputTokens: 7,
    outputTokens: 8,
    isEstimated: true,
  });
});

Deno.test("readLogLine() reads each model's usage, the serving model's first", () => {
  const read = readLogLine(changed({
    by_model: [
      { model: "glm-fast", input_tokens: 90, output_tokens: 20 },
      { model: "dear", input_tokens: 10, cost_usd: 0.5 },
      "torn",
    ],
  }));
  assert.ok(typeof read === "object");
  const { inputTokens, others } = read;
  assert.equal(inputTokens, 90);
  const dear = { ...NO_TOKENS, model: "dear", inputTokens: 10, costUsd: 0.5 };
  assert.deepEqual(others, [dear]);
});

Deno.test("readLogLine() reads the facts that a price depends on", () => {
  const usage = {
    ...{ inputTokens: 9, cacheWriteTokens: 8, cacheWrite1hTokens: 7 },
    ...{ outputTokens: 6, speed: "fast", serviceTier: "flex" },
    inferenceGeo: "us",
  };
  const read = readLogLine(written({ ...FACTS, answer: { usage } }));
  assert.ok(typeof read === "object");
  const { cacheWrite1hTokens, speed, serviceTier, inferenceGeo } = read;
  const found = [cacheWrite1hTokens, speed, serviceTier, inferenceGeo];
  assert.deepEqual(found, [7, "fast", "flex", "us"]);
});

Deno.test("readLogLine() reads which earlier attempts reached a provider without a response", () => {
  const attempt = (connection: string, failed?: object) => ({
    ...{ connection, model: "glm-fast", startedMs: 0, failed },
  });
  const read = readLogLine(written({
    ...FACTS,
    attempts: [
      attempt("a", { why: "silent", atMs: 1 }),
      attempt("b", { why: "trouble", atMs: 1, status: 500 }),
      attempt("c", { why: "unreachable", atMs: 1 }),
      attempt("d", { why: "untranslatable", atMs: 1 }),
      attempt("e", { why: "broken", atMs: 1 }),
      attempt("GLM team"),
    ],
  }));
  assert.ok(typeof read === "object");
  assert.deepEqual(read.unanswered, [
    { connection: "a", model: "glm-fast" },
    { connection: "e", model: "glm-fast" },
  ]);
});

Deno.test("readLogLine() names the serving model instead of the requested one", () => {
  const read = readLogLine(changed({ served_model: "glm-slow" }));
  assert.deepEqual(read, { ...READ, model: "glm-slow" });
});

Deno.test("readLogLine() marks failed requests, but not disconnects", () => {
  const isFailed = (line: string) => {
    const read = readLogLine(line);
    assert.ok(typeof read === "object");
    return read.isFailed;
  };
  assert.equal(isFailed(written(FACTS, "client_abort")), false);
  const left = { ...FACTS, status: 499 };
  assert.equal(isFailed(written(left, "client_abort")), false);
  assert.equal(isFailed(written(FACTS, "upstream_broken")), true);
  assert.equal(isFailed(written({ ...FACTS, status: 502 }, "error")), true);
  assert.equal(isFailed(written({ ...FACTS, status: 400 })), true);
});

Deno.test("readLogLine() skips text before the object", () => {
  const prefixes = [
    "Nov 21 12:00:00 host model-gateway[12]: ",
    "2026-11-21T12:00:00.1Z stdout F ",
    // Text that the dying process wrote before the first line of the next one.
    LINE.slice(0, 90),
  ];
  for (const prefix of prefixes) {
    assert.deepEqual(readLogLine(prefix + LINE), READ, prefix);
  }
});

Deno.test("readLogLine() distinguishes the gateway's other lines from lines of other programs", () => {
  let reload = "";
  createLog({ format: "json", now: () => 0, sink: (line) => reload += line })
    .write("config_failed", { exception: "NotFound" });
  const cases: Readonly<Record<string, string>> = {
    [reload]: "other",
    [written({ caller: "alice", status: 401 }, "error")]: "other",
    [changed({ event: "other", note: '"event":"request"' })]: "other",
    [changed({ connection: 7 })]: "other",
    [changed({ route: "/api/v1/messages/count_tokens" })]: "other",
    "": "unreadable",
    "listening on http://127.0.0.1:8787": "unreadable",
    "[1,2]": "unreadable",
    "null": "unreadable",
    "2026-11-21T12:00:00.000Z info request connection=a": "unreadable",
    [changed({ time: "yesterday" })]: "unreadable",
    [changed({ time: "2026-11-21" })]: "unreadable",
  };
  for (const [line, kind] of Object.entries(cases)) {
    assert.equal(readLogLine(line), kind, line);
  }
});

Deno.test("readLogLine() rejects an incomplete line", () => {
  for (let length = 0; length < LINE.length; length++) {
    assert.equal(readLogLine(LINE.slice(0, length)), "unreadable", `${length}`);
  }
});

Deno.test("readLogLine() ignores invalid counts and implausibly large ones", () => {
  const read = (bad: unknown) => {
    const line = changed({ usage: { input_tokens: bad }, cost_usd: bad });
    const found = readLogLine(line);
    assert.ok(typeof found === "object");
    return [found.inputTokens, found.costUsd];
  };
  for (const bad of [-1, "7", null, [1], {}, true]) {
    assert.deepEqual(read(bad), [0, undefined], JSON.stringify(bad));
  }
  assert.deepEqual(read(0.5), [0, 0.5]);
  assert.deepEqual(read(1e300), [1_000_000_000, undefined]);
  for (const usage of [null, 7, "x", [1]]) {
    const found = readLogLine(changed({ usage }));
    assert.ok(typeof found === "object" && found.inputTokens === 0);
  }
});

const TIME = "2026-01-02T03:04:05.006Z";

/** The fields of a usual request. */
const USUAL: EventFields<"request"> = {
  request_id: "req_1",
  token: "alice",
  method: "POST",
  route: "/v1/chat/completions",
  model: "glm-fast",
  connection: "GLM team",
  status: 200,
  bytes_in: 1,
  bytes_out: 2,
  usage: { input_tokens: 1200, output_tokens: 300 },
  total_ms: 3.4,
  ended: "complete",
};

const unpainted: PaintLine = (_colour, text) => text;

/** Marks a coloured text as `<colour:text>`. */
const marked: PaintLine = (colour, text) => `<${colour}:${text}>`;

function lineOf(
  fields: Partial<EventFields<"request">> = {},
  paint: PaintLine = unpainted,
): string {
  const level = fields.failure === undefined ? "info" : "warn";
  const head = { time: TIME, level, event: "request" } as const;
  return textLine(head, { ...USUAL, ...fields }, paint);
}

Deno.test("a request is one line in columns: time, level, status, duration, token, model, connection, path, tokens, id", () => {
  assert.equal(
    lineOf(),
    "2026-01-02 03:04:05Z  info   200     3 ms  alice         glm-fast                  GLM team          " +
      "POST /v1/chat/completions  1200 in, 300 out      req_1\n",
  );
});

Deno.test("the columns of all requests are aligned", () => {
  const usual = lineOf();
  const others = [
    lineOf({ status: 502, total_ms: 61_234, token: "b", model: "a" }),
    lineOf({
      token: undefined,
      model: undefined,
      connection: undefined,
      status: undefined,
      usage: undefined,
      ended: "client_abort",
    }),
    lineOf({ method: "GET", route: "/v1/models", usage: {} }),
  ];
  const starts = ["alice", "glm-fast", "GLM team", "POST", "1200"]
    .map((word) => usual.indexOf(word));
  for (const line of others) {
    for (const start of starts) {
      assert.match(line.slice(start - 2), /^ {2}\S/, line);
    }
  }
});

Deno.test("a value longer than its column is not cut", () => {
  const model = "a-model-with-a-name-of-many-words";
  assert.ok(lineOf({ model }).includes(`  ${model}  GLM team  `));
});

Deno.test("a duration is in milliseconds, or in seconds if it is at least one", () => {
  const durations = [0, 999.4, 1000, 99_940, 100_000, 3_600_000];
  assert.deepEqual(
    durations.map((total_ms) =>
      /200 +(\S+ m?s) {2}/.exec(lineOf({ total_ms }))?.[1]
    ),
    ["0 ms", "999 ms", "1.0 s", "99.9 s", "100 s", "3600 s"],
  );
});

Deno.test("estimated tokens have a mark, and a different serving model is named", () => {
  const usage = { output_tokens: 7, estimated: true } as const;
  assert.match(lineOf({ usage }), / {2}~0 in, 7 out {2}/);
  assert.match(lineOf({ served_model: "glm-5" }), / {2}glm-fast → glm-5 {2}/);
});

Deno.test("a cost of any size has three digits and no exponent", () => {
  const costs = [
    [0, "$0"],
    [0.000_000_5, "$0.0000005"],
    [0.012_345, "$0.0123"],
    [1.5, "$1.5"],
    [1234.5, "$1230"],
  ] as const;
  for (const [cost_usd, text] of costs) {
    assert.match(lineOf({ cost_usd }), new RegExp(`  \\${text}  `), text);
  }
});

Deno.test("unusual facts come before the id: cost, attempts, drops, ending, failure, error, limit, reason", () => {
  const line = lineOf({
    cost_usd: 0.012345,
    attempts: [{ status: 500 }, { status: 502 }],
    dropped: ["top_k", "a b"],
    ended: "upstream_broken",
    failure: "forbidden",
    error: "upstream_authentication",
    limit: "2 requests per month",
    reason: "a word\nand more",
  });
  assert.ok(
    line.endsWith(
      "  $0.0123  2 attempts  dropped top_k a b  upstream_broken  forbidden  upstream_authentication  " +
        '2 requests per month  "a word\\nand more"  req_1\n',
    ),
    line,
  );
});

Deno.test("the ending 'error' is shown only if no field names the error", () => {
  assert.match(lineOf({ ended: "error" }), / out {6}error {2}req_1$/m);
  assert.match(
    lineOf({ ended: "error", error: "model_not_found" }),
    / out {6}model_not_found {2}req_1$/m,
  );
});

Deno.test("the colour of the status is green, yellow for the caller's errors and red for others", () => {
  const colours = [200, 404, 499, 500, undefined].map((status) =>
    /<(\w+):(?:\d+|- ) *>/.exec(lineOf({ status }, marked))?.[1]
  );
  assert.deepEqual(colours, ["green", "yellow", "yellow", "red", "red"]);
});

Deno.test("time and id are dim, and a level other than info is coloured like the reason", () => {
  assert.match(lineOf({}, marked), /^<dim:2026-01-02 03:04:05Z> {2}info {3}</);
  assert.match(lineOf({}, marked), / {2}<dim:req_1>\n$/);
  const line = lineOf({ failure: "forbidden", status: 502 }, marked);
  assert.match(line, /Z> {2}<yellow:warn > {2}<red:502> /);
  assert.match(line, / {2}<yellow:forbidden> {2}<dim:req_1>\n$/);
  const head = { time: TIME, level: "error", event: "cut" } as const;
  assert.match(textLine(head, {}, marked), / {2}<red:error> {2}cut\n$/);
});

Deno.test("the line of another event is its name and its fields", () => {
  const head = { time: TIME, level: "warn", event: "cooling_down" } as const;
  const known = { connection: "GLM team", failure: "forbidden" };
  const fields = { ...known, retry_ms: 30_000, model: undefined };
  assert.equal(
    textLine(head, fields, unpainted),
    '2026-01-02 03:04:05Z  warn   cooling_down  connection="GLM team"  failure=forbidden  retry_ms=30000\n',
  );
});

Deno.test("a value cannot imitate a column, a line or a command to the terminal", () => {
  const spaced = ["x  GLM team  200", " x", "x ", "", "x\u00a0\u00a0y"];
  const others = ['x"y', "x\u2028y", "x\u001b[31my", "x\ny"];
  for (const model of [...spaced, ...others]) {
    const line = lineOf({ model });
    const quoted = JSON.parse(/ {2}(".*") {2}/.exec(line)?.[1] ?? "null");
    assert.equal(quoted, model, line);
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.ok(!line.includes("\u001b") && !line.includes("\u2028"));
  }
  assert.match(lineOf({ model: "Modèle é🌻" }), / {2}Modèle é🌻 {2}/);
});
