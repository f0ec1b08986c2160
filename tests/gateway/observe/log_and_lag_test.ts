import assert from "node:assert/strict";
import { measureLag } from "../../../src/gateway/observe/metrics.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createLog, type LogFormat } from "../../../src/gateway/observe/log.ts";
import {
  type EventFields,
  levelOf,
  LOG_EVENTS,
} from "../../../src/gateway/observe/log_events.ts";
import { LOG_FIELDS } from "../../../src/gateway/observe/log_fields.ts";
import { steps } from "../../support/steps.ts";

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

/** The fields of every request's line. */
const ENDED = {
  request_id: "req_1",
  method: "POST",
  bytes_in: 1,
  bytes_out: 2,
  total_ms: 3,
  ended: "complete",
} as const;

/** Returns the line that a log writes for a request. */
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

Deno.test("createLog() writes one JSON object per line, with time, level and event first", () => {
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

Deno.test("createLog() writes the time of each line with milliseconds", () => {
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

/** Characters that some program reads as a line end or a terminal command. */
const HOSTILE = Array.from({ length: 0xa0 }, (_, code) => code)
  .filter((code) => code < 0x20 || code >= 0x7f)
  .concat(0x2028, 0x2029)
  .map((code) => String.fromCharCode(code)).join("");

Deno.test("createLog() writes one line, whatever characters its values have", (t) =>
  steps(t, ["json", "text"] as const, (format) => {
    const model = `a${HOSTILE}b"=\\ \ud800é🌻`;
    const line = lineOf(format, { model, attempts: [{ model: HOSTILE }] });
    assert.equal(line.indexOf("\n"), line.length - 1);
    for (const character of HOSTILE) {
      assert.ok(!line.slice(0, -1).includes(character));
    }
    assert.ok(line.includes("é🌻"));
  }));

Deno.test("createLog() escapes values so that JSON restores them", () => {
  const model = `a${HOSTILE}b`;
  assert.equal(JSON.parse(lineOf("json", { model })).model, model);
});

/** The facts about a request's end that decide about the level of its line. */
type Outcome = Pick<EventFields<"request">, "ended" | "status" | "failure">;

const OUTCOMES: readonly (readonly [
  name: string,
  level: "info" | "warn" | "error",
  ended: Outcome["ended"],
  status: number,
  failure?: NonNullable<Outcome["failure"]>,
])[] = [
  ["a whole answer", "info", "complete", 200],
  ["a 4xx of the gateway", "info", "error", 401],
  ["a caller who left before", "info", "client_abort", 499],
  ["a caller who left a stream", "info", "client_abort", 200, "broken"],
  ["a request that is refused", "info", "complete", 400, "refused"],
  ["a prompt that is too long", "info", "error", 400, "too_long"],
  ["an untranslatable request", "info", "error", 400, "untranslatable"],
  ["a provider that limits us", "warn", "complete", 429, "rate_limited"],
  ["an unreachable provider", "warn", "error", 502, "unreachable"],
  ["a broken stream", "warn", "upstream_broken", 200, "broken"],
  ["a stream that the gateway cut", "warn", "error", 200],
  ["no free descriptor", "error", "error", 503, "gateway_shortage"],
  ["a gateway that is full", "error", "error", 503],
  ["a fault of the program", "error", "error", 500],
];

Deno.test("a request's line is an error for the gateway's own failure, and a warning for the provider's", (t) =>
  steps(t, OUTCOMES, ([, level, ended, status, failure]) => {
    const outcome = failure === undefined ? { status } : { status, failure };
    const line = { ...ENDED, ended, ...outcome };
    assert.equal(levelOf("request", line), level);
  }));

Deno.test("every log field belongs to an event, and no event has a field twice", () => {
  const named = new Set<string>();
  for (const [event, { fields, optional }] of Object.entries(LOG_EVENTS)) {
    const all: readonly string[] = [...fields, ...optional];
    assert.equal(new Set(all).size, all.length, event);
    for (const name of all) named.add(name);
  }
  assert.deepEqual([...named].sort(), Object.keys(LOG_FIELDS).sort());
});
