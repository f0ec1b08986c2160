import assert from "node:assert/strict";
import type { EventFields } from "../../src/observe/log_events.ts";
import { type PaintLine, textLine } from "../../src/observe/text_line.ts";

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
  return textLine({ time: TIME, level, event: "request" }, {
    ...USUAL,
    ...fields,
  }, paint);
}

Deno.test("a request is one line in columns: time, level, status, duration, token, model, connection, path, tokens, id", () => {
  assert.equal(
    lineOf(),
    "2026-01-02 03:04:05Z  info   200     3 ms  alice         glm-fast                  GLM team          " +
      "POST /v1/chat/completions  1200 in, 300 out      req_1\n",
  );
});

Deno.test("the columns of all requests begin at the same places", () => {
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

Deno.test("a value longer than its column is whole", () => {
  const model = "a-model-with-a-name-of-many-words";
  assert.ok(lineOf({ model }).includes(`  ${model}  GLM team  `));
});

Deno.test("a duration is in milliseconds, or in seconds from one on", () => {
  const durations = [0, 999.4, 1000, 99_940, 100_000, 3_600_000];
  assert.deepEqual(
    durations.map((total_ms) =>
      /200 +(\S+ m?s) {2}/.exec(lineOf({ total_ms }))?.[1]
    ),
    ["0 ms", "999 ms", "1.0 s", "99.9 s", "100 s", "3600 s"],
  );
});

Deno.test("estimated tokens have a mark, and a model that served in place of another is named", () => {
  const usage = { output_tokens: 7, estimated: true } as const;
  assert.match(lineOf({ usage }), / {2}~0 in, 7 out {2}/);
  assert.match(lineOf({ served_model: "glm-5" }), / {2}glm-fast → glm-5 {2}/);
});

Deno.test("a cost has three digits and no exponent, however large or small it is", () => {
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

Deno.test("the ending error is shown only when nothing names the error", () => {
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

Deno.test("time and id are dim, and a level other than info colours itself and the reason", () => {
  assert.match(lineOf({}, marked), /^<dim:2026-01-02 03:04:05Z> {2}info {3}</);
  assert.match(lineOf({}, marked), / {2}<dim:req_1>\n$/);
  const line = lineOf({ failure: "forbidden", status: 502 }, marked);
  assert.match(line, /Z> {2}<yellow:warn > {2}<red:502> /);
  assert.match(line, / {2}<yellow:forbidden> {2}<dim:req_1>\n$/);
  const head = { time: TIME, level: "error", event: "cut" } as const;
  assert.match(textLine(head, {}, marked), / {2}<red:error> {2}cut\n$/);
});

Deno.test("other events are their name and their fields", () => {
  const head = { time: TIME, level: "warn", event: "cooling_down" } as const;
  assert.equal(
    textLine(
      head,
      {
        connection: "GLM team",
        failure: "forbidden",
        retry_ms: 30_000,
        model: undefined,
      },
      unpainted,
    ),
    '2026-01-02 03:04:05Z  warn   cooling_down  connection="GLM team"  failure=forbidden  retry_ms=30000\n',
  );
});

Deno.test("a value cannot imitate a column, a line or a command to the terminal", () => {
  const models = [
    "x  GLM team  200",
    " x",
    "x ",
    "",
    'x"y',
    "x\u00a0\u00a0y",
    "x\u2028y",
    "x\u001b[31my",
    "x\ny",
  ];
  for (const model of models) {
    const line = lineOf({ model });
    const quoted = JSON.parse(/ {2}(".*") {2}/.exec(line)?.[1] ?? "null");
    assert.equal(quoted, model, line);
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.ok(!line.includes("\u001b") && !line.includes("\u2028"));
  }
  assert.match(lineOf({ model: "Modèle é🌻" }), / {2}Modèle é🌻 {2}/);
});
