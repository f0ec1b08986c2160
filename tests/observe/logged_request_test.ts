import assert from "node:assert/strict";
import { createLog } from "../../src/observe/log.ts";
import { readLogLine } from "../../src/observe/logged_request.ts";
import { openRecord } from "../../src/observe/record.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";

const NOON_MS = Date.UTC(2026, 10, 21, 12);

/** The line that the gateway writes of a request with these facts, without its line feed. */
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
  record.finish(ending);
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

const LINE = written(FACTS);

/** The line with other fields. */
function changed(fields: object): string {
  return JSON.stringify({ ...JSON.parse(LINE), ...fields });
}

Deno.test("readLogLine() reads the gateway's line of a request", () => {
  assert.deepEqual(readLogLine(LINE), READ);
  assert.deepEqual(readLogLine(`${LINE}\r`), READ);
});

Deno.test("readLogLine() reads session, cost, the cause of a dear turn and the mark of estimates", () => {
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
    inputTokens: 7,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 8,
    reasoningTokens: 0,
    isEstimated: true,
  });
});

Deno.test("readLogLine() reads each model's usage, that of the serving model first", () => {
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
  assert.deepEqual(others, [{
    model: "dear",
    inputTokens: 10,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costUsd: 0.5,
  }]);
});

Deno.test("readLogLine() reads what a price depends on", () => {
  const usage = {
    ...{ inputTokens: 9, cacheWriteTokens: 8, cacheWrite1hTokens: 7 },
    ...{ outputTokens: 6, speed: "fast", serviceTier: "flex" },
    inferenceGeo: "us",
  };
  const read = readLogLine(written({ ...FACTS, answer: { usage } }));
  assert.ok(typeof read === "object");
  const { cacheWrite1hTokens, speed, serviceTier, inferenceGeo } = read;
  assert.deepEqual(
    [cacheWrite1hTokens, speed, serviceTier, inferenceGeo],
    [7, "fast", "flex", "us"],
  );
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

Deno.test("readLogLine() recognizes failed requests; a disconnect is no failure", () => {
  const isFailed = (line: string) => {
    const read = readLogLine(line);
    assert.ok(typeof read === "object");
    return read.isFailed;
  };
  assert.equal(isFailed(written(FACTS, "client_abort")), false);
  assert.equal(
    isFailed(written({ ...FACTS, status: 499 }, "client_abort")),
    false,
  );
  assert.equal(isFailed(written(FACTS, "upstream_broken")), true);
  assert.equal(isFailed(written({ ...FACTS, status: 502 }, "error")), true);
  assert.equal(isFailed(written({ ...FACTS, status: 400 })), true);
});

Deno.test("readLogLine() skips text before the object", () => {
  const prefixes = [
    "Nov 21 12:00:00 host model-gateway[12]: ",
    "2026-11-21T12:00:00.1Z stdout F ",
    // Written when the process died, before the next one wrote its first line.
    LINE.slice(0, 90),
  ];
  for (const prefix of prefixes) {
    assert.deepEqual(readLogLine(prefix + LINE), READ, prefix);
  }
});

Deno.test("readLogLine() separates other lines of the gateway from foreign ones", () => {
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

Deno.test("readLogLine() rejects a line that was cut at any place", () => {
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
