import assert from "node:assert/strict";
import {
  period,
  periodOfSeconds,
  periodOfText,
  TOTAL,
  UNKNOWN_PERIOD,
} from "../../src/limits/period.ts";

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

Deno.test("periodOfSeconds() tells windows by their length", () => {
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

Deno.test("periodOfSeconds() knows no length that is none", () => {
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

Deno.test("periodOfText() knows no other text", () => {
  for (const text of ["", "5", "h", "0h", "-5h", "5 h", "1e3h", "5x", null]) {
    assert.equal(periodOfText(text), UNKNOWN_PERIOD);
  }
});
