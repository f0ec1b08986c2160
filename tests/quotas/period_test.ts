import assert from "node:assert/strict";
import {
  durationMs,
  instantAfter,
  instantOfMs,
  instantOfSeconds,
  instantOfText,
  period,
  periodOfSeconds,
  periodOfText,
  TOTAL,
  UNKNOWN_PERIOD,
} from "../../src/quotas/period.ts";

Deno.test("period() names its length and codes its unit", () => {
  const expected = [
    [period(1, "minute"), "minute", 2],
    [period(1, "hour"), "hourly", 3],
    [period(5, "hour"), "five_hour", 3],
    [period(1, "day"), "daily", 4],
    [period(1, "month"), "monthly", 5],
    [period(1, "week"), "weekly", 6],
    [period(2, "week"), "two_week", 6],
    [period(1, "year"), "yearly", 7],
    [period(12, "hour"), "twelve_hour", 3],
    [period(13, "hour"), "13_hour", 3],
  ] as const;
  for (const [made, name, unit] of expected) {
    assert.equal(made.name, name);
    assert.equal(made.unit, unit);
  }
});

Deno.test("periodOfSeconds() names windows by their length", () => {
  const names = {
    60: "minute",
    5400: "90_minute",
    3600: "hourly",
    14_400: "four_hour",
    18_000: "five_hour",
    17_999: "five_hour",
    86_400: "daily",
    172_800: "two_day",
    604_800: "weekly",
    1_209_600: "two_week",
    2_419_200: "monthly",
    2_592_000: "monthly",
    2_628_000: "monthly",
    2_678_400: "monthly",
    31_536_000: "yearly",
  };
  for (const [seconds, name] of Object.entries(names)) {
    assert.equal(periodOfSeconds(Number(seconds)).name, name, seconds);
  }
});

Deno.test("periodOfSeconds() recognizes no length that is none", () => {
  for (const seconds of [0, -60, 20, NaN, Infinity, 1e300, null, undefined]) {
    assert.equal(periodOfSeconds(seconds), UNKNOWN_PERIOD);
  }
});

Deno.test("periodOfText() reads short lengths", () => {
  const names = {
    "5h": "five_hour",
    "90m": "90_minute",
    "60s": "minute",
    "1d": "daily",
    "7d": "weekly",
    "30d": "monthly",
    "1w": "weekly",
    "1mo": "monthly",
    "3mo": "three_month",
    "1y": "yearly",
  };
  for (const [text, name] of Object.entries(names)) {
    assert.equal(periodOfText(text).name, name, text);
  }
  assert.equal(periodOfText("total"), TOTAL);
});

Deno.test("periodOfText() recognizes no other text", () => {
  for (const text of ["", "5", "h", "0h", "-5h", "5 h", "1e3h", "5x", null]) {
    assert.equal(periodOfText(text), UNKNOWN_PERIOD);
  }
});

Deno.test("instantOfMs() and instantOfSeconds() keep their units apart", () => {
  assert.equal(instantOfMs(1782057600000), "2026-06-21T16:00:00.000Z");
  assert.equal(instantOfSeconds(1782057600), "2026-06-21T16:00:00.000Z");
});

Deno.test("instantOfMs() returns no instant where none was reported", () => {
  for (const ms of [0, -1, null, undefined, NaN, Infinity, 1e300, 8.64e15]) {
    assert.equal(instantOfMs(ms), null, String(ms));
    assert.equal(instantOfSeconds(ms), null, String(ms));
  }
});

Deno.test("instantOfMs() keeps an instant of the past", () => {
  assert.equal(instantOfMs(1), "1970-01-01T00:00:00.001Z");
});

Deno.test("instantOfText() reads what providers write", () => {
  const instants = {
    "2026-08-04T16:20:00Z": "2026-08-04T16:20:00.000Z",
    "2026-08-04T16:20:00.001100+00:00": "2026-08-04T16:20:00.001Z",
    "2026-01-09T15:23:13.373329235Z": "2026-01-09T15:23:13.373Z",
    "2026-08-06T19:00:00+02:00": "2026-08-06T17:00:00.000Z",
    "2026-08-06T19:00:00+0200": "2026-08-06T17:00:00.000Z",
    "2026-08-06 19:00:00": "2026-08-06T19:00:00.000Z",
    "2026-08-06T19:00": "2026-08-06T19:00:00.000Z",
    "2026-10-01": "2026-10-01T00:00:00.000Z",
  };
  for (const [text, expected] of Object.entries(instants)) {
    assert.equal(instantOfText(text), expected, text);
  }
});

Deno.test("instantOfText() recognizes no instant in any other text", () => {
  const texts = ["", "soon", "1782057600", "2026-13-01", "2026-01-01T25:00Z"];
  for (const text of [...texts, "-5", "May 2026", null, undefined]) {
    assert.equal(instantOfText(text), null, String(text));
  }
});

Deno.test("instantAfter() adds a delay", () => {
  assert.equal(instantAfter(1000, 500), "1970-01-01T00:00:01.500Z");
  assert.equal(instantAfter(1000, 0), "1970-01-01T00:00:01.000Z");
  for (const delay of [-1, null, undefined]) {
    assert.equal(instantAfter(1000, delay), null);
  }
});

Deno.test("durationMs() reads the durations of reset headers", () => {
  const durations = {
    "6m0s": 360_000,
    "1s": 1000,
    "12ms": 12,
    "2m59.56s": 179_560,
    "1h30m": 5_400_000,
    "1d2h": 93_600_000,
    "0s": 0,
  };
  for (const [text, expected] of Object.entries(durations)) {
    assert.equal(durationMs(text), expected, text);
  }
  for (const text of ["", "5", "s", "1s2m", "-1s", "1 s", "soon"]) {
    assert.equal(durationMs(text), null, text);
  }
});
