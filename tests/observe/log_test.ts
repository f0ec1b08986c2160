import assert from "node:assert/strict";
import { createLog, type LogFormat } from "../../src/observe/log.ts";
import type { EventFields } from "../../src/observe/log_events.ts";

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

Deno.test("createLog() writes one line for any values", async (t) => {
  for (const format of ["json", "text"] as const) {
    await t.step(format, () => {
      const model = `a${HOSTILE}b"=\\ \ud800é🌻`;
      const line = lineOf(format, { model, attempts: [{ model: HOSTILE }] });
      assert.equal(line.indexOf("\n"), line.length - 1);
      for (const character of HOSTILE) {
        assert.ok(!line.slice(0, -1).includes(character));
      }
      assert.ok(line.includes("é🌻"));
    });
  }
});

Deno.test("createLog() loses nothing of a value that it escapes", () => {
  const model = `a${HOSTILE}b`;
  assert.equal(JSON.parse(lineOf("json", { model })).model, model);
});
