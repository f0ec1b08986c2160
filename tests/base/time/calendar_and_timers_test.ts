import assert from "node:assert/strict";
import { backoffMs } from "../../../src/base/time/backoff.ts";
import {
  CALENDAR_WINDOWS,
  calendarSpan,
  type CalendarWindow,
} from "../../../src/base/time/calendar.ts";
import { minuteText } from "../../../src/base/time/minute_text.ts";
import {
  lastingTimers,
  systemClock,
  systemTimers,
} from "../../../src/base/time/timers.ts";

Deno.test("backoffMs() doubles with each failure, up to the longest pause", () => {
  const options = { firstMs: 100, mostMs: 2000 };
  const pauses = [1, 2, 3, 4, 5, 6, 7, 5000].map((failures) =>
    backoffMs(failures, options)
  );
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
});

Deno.test("backoffMs() returns a random pause between half of the length and the whole length", () => {
  for (const [drawn, expected] of [[0, 200], [0.5, 300], [1, 400]] as const) {
    assert.equal(backoffMs(2, { firstMs: 200, random: () => drawn }), expected);
  }
});

function spanOf(window: CalendarWindow, at: string): string {
  const { startMs, endMs } = calendarSpan(window, Date.parse(at));
  const shown = (ms: number) => new Date(ms).toISOString().slice(0, 16);
  return `${shown(startMs)} ${shown(endMs)}`;
}

Deno.test("a calendar window begins and ends by the UTC calendar", () => {
  const at = "2026-11-22T04:43:15.250Z";
  assert.deepEqual(CALENDAR_WINDOWS.map((window) => spanOf(window, at)), [
    "2026-11-22T04:43 2026-11-22T04:44",
    "2026-11-22T04:00 2026-11-22T05:00",
    "2026-11-22T00:00 2026-11-23T00:00",
    "2026-11-16T00:00 2026-11-23T00:00",
    "2026-11-01T00:00 2026-12-01T00:00",
  ]);
});

Deno.test("a calendar window includes its first moment and excludes its end", () => {
  for (const window of CALENDAR_WINDOWS) {
    const { startMs, endMs } = calendarSpan(window, Date.UTC(2026, 5, 17));
    assert.deepEqual(calendarSpan(window, startMs), { startMs, endMs });
    assert.deepEqual(calendarSpan(window, endMs - 1), { startMs, endMs });
    assert.equal(calendarSpan(window, endMs).startMs, endMs);
  }
});

Deno.test("a week follows ISO 8601, also at the year's end", () => {
  const cases = [
    // 2020 has a week 53.
    ["2020-12-31T12:00Z", "2020-12-28T00:00 2021-01-04T00:00"],
    ["2021-01-03T23:59Z", "2020-12-28T00:00 2021-01-04T00:00"],
    ["2021-01-04T00:00Z", "2021-01-04T00:00 2021-01-11T00:00"],
    // 2024 ends in the first week of 2025.
    ["2024-12-30T00:00Z", "2024-12-30T00:00 2025-01-06T00:00"],
    ["1970-01-01T00:00Z", "1969-12-29T00:00 1970-01-05T00:00"],
  ] as const;
  for (const [at, span] of cases) assert.equal(spanOf("week", at), span, at);
});

Deno.test("a month has its number of days", () => {
  const cases = [
    ["2026-02-28T23:59Z", "2026-02-01T00:00 2026-03-01T00:00"],
    ["2028-02-29T12:00Z", "2028-02-01T00:00 2028-03-01T00:00"],
    ["2026-12-31T23:59Z", "2026-12-01T00:00 2027-01-01T00:00"],
    ["2027-01-31T00:00Z", "2027-01-01T00:00 2027-02-01T00:00"],
  ] as const;
  for (const [at, span] of cases) assert.equal(spanOf("month", at), span, at);
});

Deno.test("an hour has its usual length when other zones change their clocks", () => {
  const hour = spanOf("hour", "2026-10-25T01:30Z");
  assert.equal(hour, "2026-10-25T01:00 2026-10-25T02:00");
  const day = spanOf("day", "2026-03-29T01:30Z");
  assert.equal(day, "2026-03-29T00:00 2026-03-30T00:00");
});

Deno.test("minuteText() returns the instant in UTC, rounded up to the minute", () => {
  const cases: readonly [instant: string, text: string][] = [
    ["2026-11-24T00:00:00.000Z", "2026-11-24 00:00 UTC"],
    ["2026-11-24T00:00:00.001Z", "2026-11-24 00:01 UTC"],
    ["2026-12-31T23:59:30.000Z", "2027-01-01 00:00 UTC"],
  ];
  for (const [instant, text] of cases) {
    assert.equal(minuteText(Date.parse(instant)), text);
  }
});

Deno.test("timers of this machine fire unless they are cancelled", async () => {
  for (const timers of [systemTimers, lastingTimers]) {
    const cancel = timers.schedule(1, () => assert.fail("It was taken back"));
    cancel();
    // Only this timer keeps the program alive.
    const { promise, resolve } = Promise.withResolvers<void>();
    const alive = setTimeout(() => {}, 60_000);
    const late = timers.schedule(20, resolve);
    await promise;
    clearTimeout(alive);
    late();
  }
});

Deno.test("systemClock.now() is the wall clock in milliseconds", () => {
  const before = Date.now();
  const now = systemClock.now();
  assert.ok(now >= before && now <= Date.now());
});

Deno.test("systemClock.elapsedMs() never goes back", () => {
  const readings = Array.from({ length: 100 }, () => systemClock.elapsedMs());
  assert.deepEqual(readings, readings.toSorted((one, other) => one - other));
});
