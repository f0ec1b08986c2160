import assert from "node:assert/strict";
import { measureLag } from "../../src/observe/metrics.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import { createLog, type LogFormat } from "../../src/observe/log.ts";
import {
  type EventFields,
  levelOf,
  LOG_EVENTS,
} from "../../src/observe/log_events.ts";
import { LOG_FIELDS } from "../../src/observe/log_fields.ts";
import { steps } from "../support/steps.ts";

Deno.test("measureLag() reports the delay of its timer until it is stopped", () => {
  const timers = createFakeTimers();
  let lateMs = 0;
  const late = { ...timers, elapsedMs: () => timers.elapsedMs() + lateMs };
  const lags: number[] = [];
  const stop = measureLag(late, (ms) => lags.push(ms));
  timers.advance(500);
  lateMs = 70;
  timers.advance(500);
  timers.advance(500);
  assert.deepEqual(lags, [0, 70, 0]);
  stop();
  timers.advance(5000);
  assert.equal(lags.length, 3);
  assert.equal(timers.running, 0);
});

/** What every line about a request has. */
const ENDED = {
  request_id: "req_1",
  method: "POST",
  bytes_in: 1,
  bytes_out: 2,
  total_ms: 3,
  ended: "complete",
} as const;

/** The line that a log makes of a request. */
function lineOf(
  format: LogFormat,
  fields: Partial<EventFields<"request">>,
): string {
  const lines: string[] = [];
  const log = createLog({
    format,
    now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    sink: (line) => lines.push(line),
  });
  log.write("request", { ...ENDED, ...fields });
  assert.equal(lines.length, 1);
  return lines[0] ?? "";
}

Deno.test("createLog() writes one JSON object a line, time, level and event first", () => {
  const line = lineOf("json", {
    status: 200,
    usage: { input_tokens: 1, cached_input_tokens: undefined },
    model: undefined,
    dropped: ["a", "b"],
  });
  assert.equal(
    line,
    '{"time":"2026-01-02T03:04:05.006Z","level":"info","event":"request",' +
      '"request_id":"req_1","method":"POST","bytes_in":1,"bytes_out":2,"total_ms":3,"ended":"complete",' +
      '"status":200,"usage":{"input_tokens":1},"dropped":["a","b"]}\n',
  );
});

Deno.test("createLog() writes the time of each line to the millisecond", () => {
  const start = Date.UTC(2026, 11, 31, 23, 59, 58, 999);
  const times = [0, 0, 1, 8, 1001, 60_000, -5, 0].map((ms) => start + ms);
  const lines: string[] = [];
  const log = createLog({
    format: "json",
    now: () => times[lines.length] ?? NaN,
    sink: (line) => lines.push(line),
  });
  for (const _ of times) log.write("stopped", {});
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    times.map((ms) => ({
      time: new Date(ms).toISOString(),
      level: "info",
      event: "stopped",
    })),
  );
});

/** Everything that some reader takes for a line's end or for a command to the terminal. */
const HOSTILE = Array.from({ length: 0xa0 }, (_, code) => code)
  .filter((code) => code < 0x20 || code >= 0x7f)
  .concat(0x2028, 0x2029)
  .map((code) => String.fromCharCode(code)).join("");

Deno.test("createLog() writes one line for any values", (t) =>
  steps(t, ["json", "text"] as const, (format) => {
    const model = `a${HOSTILE}b"=\\ \ud800é🌻`;
    const line = lineOf(format, { model, attempts: [{ model: HOSTILE }] });
    assert.equal(line.indexOf("\n"), line.length - 1);
    for (const character of HOSTILE) {
      assert.ok(!line.slice(0, -1).includes(character));
    }
    assert.ok(line.includes("é🌻"));
  }));

Deno.test("createLog() loses nothing of a value that it escapes", () => {
  const model = `a${HOSTILE}b`;
  assert.equal(JSON.parse(lineOf("json", { model })).model, model);
});

/** How a request ended, in what decides about the level of its line. */
type Outcome = Pick<EventFields<"request">, "ended" | "status" | "failure">;

const OUTCOMES: Readonly<Record<string, readonly [Outcome, level: string]>> = {
  "a whole answer": [{ ended: "complete", status: 200 }, "info"],
  "a 4xx of the gateway": [{ ended: "error", status: 401 }, "info"],
  "a caller who left before": [{ ended: "client_abort", status: 499 }, "info"],
  "a caller who left a stream": [
    { ended: "client_abort", status: 200, failure: "broken" },
    "info",
  ],
  "a request that the provider refuses": [
    { ended: "complete", status: 400, failure: "refused" },
    "info",
  ],
  "a prompt that is too long": [
    { ended: "error", status: 400, failure: "too_long" },
    "info",
  ],
  "a request that cannot be translated": [
    { ended: "error", status: 400, failure: "untranslatable" },
    "info",
  ],
  "a provider that limits the gateway": [
    { ended: "complete", status: 429, failure: "rate_limited" },
    "warn",
  ],
  "a provider that cannot be reached": [
    { ended: "error", status: 502, failure: "unreachable" },
    "warn",
  ],
  "a stream that the provider broke off": [
    { ended: "upstream_broken", status: 200, failure: "broken" },
    "warn",
  ],
  "a stream that the gateway cut": [{ ended: "error", status: 200 }, "warn"],
  "a machine without a free descriptor": [
    { ended: "error", status: 503, failure: "gateway_shortage" },
    "error",
  ],
  "a gateway that is full": [{ ended: "error", status: 503 }, "error"],
  "a fault of the program": [{ ended: "error", status: 500 }, "error"],
};

Deno.test("the line of a request is an error when the gateway failed, and a warning when the provider's failure reached the caller", (t) =>
  steps(t, Object.entries(OUTCOMES), ([, [outcome, level]]) => {
    const line = {
      request_id: "req_1",
      method: "POST",
      bytes_in: 0,
      bytes_out: 0,
      total_ms: 0,
      ...outcome,
    };
    assert.equal(levelOf("request", line), level);
  }));

Deno.test("every field of the table belongs to an event, and no event names a field twice", () => {
  const named = new Set<string>();
  for (const [event, { fields, optional }] of Object.entries(LOG_EVENTS)) {
    const all: readonly string[] = [...fields, ...optional];
    assert.equal(new Set(all).size, all.length, event);
    for (const name of all) named.add(name);
  }
  assert.deepEqual([...named].sort(), Object.keys(LOG_FIELDS).sort());
});
