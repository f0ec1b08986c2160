import assert from "node:assert/strict";
import {
  amounts,
  complement,
  type KnownAmounts,
  percentAmounts,
  tidy,
} from "../../../src/gateway/quotas/amounts.ts";
import {
  durationMs,
  instantAfter,
  instantOfMs,
  instantOfSeconds,
  instantOfText,
  type Period,
  period,
  periodOfSeconds,
  periodOfText,
  TOTAL,
  UNKNOWN_PERIOD,
} from "../../../src/gateway/quotas/period.ts";
import {
  QUOTA_TYPES,
  quotaWindow,
  strictest,
  windowSpan,
} from "../../../src/gateway/quotas/window.ts";

Deno.test("amounts() computes the missing amounts", () => {
  assert.deepEqual(amounts({ limit: 200, used: 50 }), {
    limit: 200,
    used: 50,
    remaining: 150,
    usedPercent: 25,
  });
  assert.deepEqual(amounts({ limit: 200, remaining: 50 }), {
    limit: 200,
    used: 150,
    remaining: 50,
    usedPercent: 75,
  });
});

Deno.test("amounts() uses the strictest of the stated shares, except for rounding", () => {
  const cases: readonly (readonly [KnownAmounts, number | null])[] = [
    [{ limit: 100, used: 100, usedPercent: 0 }, 100],
    [{ limit: 100, remaining: 0, usedPercent: 40 }, 100],
    [{ limit: 100, used: 0, remaining: 0 }, 100],
    [{ limit: 100, used: 20, remaining: 10 }, 90],
    [{ limit: 100, used: 0, usedPercent: 100 }, 100],
    [{ limit: 1000, used: 1000, usedPercent: 99.9 }, 100],
    [{ limit: 1000, used: 999, usedPercent: 99 }, 99],
    [{ limit: 100, used: 130, remaining: 0 }, 130],
    [{ limit: 0, used: 0, remaining: 0 }, null],
    [{ limit: 0, used: 3, usedPercent: 7 }, 7],
    [{ limit: 100, remaining: 150 }, null],
    [{ usedPercent: null }, null],
  ];
  for (const [given, percent] of cases) {
    assert.equal(amounts(given).usedPercent, percent, JSON.stringify(given));
  }
});

Deno.test("strictest() keeps the fullest of several windows, and prefers a known share to an unknown one", () => {
  const of = (known: KnownAmounts) =>
    quotaWindow({
      type: QUOTA_TYPES.usage,
      unit: "requests",
      period: period(1, "week"),
      ...known,
    });
  const unknown = of({});
  const cases: readonly (readonly [KnownAmounts[], number])[] = [
    [[{ usedPercent: 0 }, {}], 0],
    [[{}, { usedPercent: 0 }], 1],
    [[{}, { usedPercent: -5 }], 1],
    [[{ usedPercent: -5 }, {}], 0],
    [[{ usedPercent: 20 }, { remaining: 0 }], 1],
    [[{ usedPercent: 120 }, { remaining: 0 }], 0],
    [[{ remaining: 7 }, { usedPercent: 20 }], 1],
    [[{ usedPercent: 30 }, { usedPercent: 30, limit: 5 }], 0],
  ];
  for (const [all, kept] of cases) {
    const windows = all.map(of);
    assert.deepEqual(strictest(windows), [windows[kept]]);
  }
  assert.deepEqual(strictest([unknown]), [unknown]);
});

Deno.test("amounts() keeps the reported values, even if they do not add up", () => {
  const given = { limit: 2000, used: 115, remaining: 1884, usedPercent: 5 };
  assert.deepEqual(amounts(given), given);
});

Deno.test("amounts() leaves amounts null that it cannot compute", () => {
  const nothing = {
    limit: null,
    used: null,
    remaining: null,
    usedPercent: null,
  };
  assert.deepEqual(amounts({}), nothing);
  assert.deepEqual(amounts({ used: 5 }), { ...nothing, used: 5 });
  assert.deepEqual(amounts({ remaining: 5 }), { ...nothing, remaining: 5 });
  assert.deepEqual(amounts({ limit: 5 }), { ...nothing, limit: 5 });
});

Deno.test("amounts() shows overuse and never returns a negative amount", () => {
  assert.deepEqual(amounts({ limit: 100, used: 130 }), {
    limit: 100,
    used: 130,
    remaining: 0,
    usedPercent: 130,
  });
  // If more is left than the limit, the used amount is unknown, not negative.
  assert.equal(amounts({ limit: 100, remaining: 130 }).used, null);
  assert.equal(amounts({ limit: 100, remaining: -30 }).used, 130);
});

Deno.test("amounts() returns no share of a limit of zero", () => {
  assert.equal(amounts({ limit: 0, used: 0 }).usedPercent, null);
  assert.equal(amounts({ limit: 1e-300, used: 1e18 }).usedPercent, null);
});

Deno.test("amounts() removes the rounding errors of binary fractions", () => {
  assert.equal(amounts({ limit: 0.3, used: 0.1 }).remaining, 0.2);
  assert.equal(tidy(0.1 + 0.2), 0.3);
});

Deno.test("percentAmounts() always returns a limit of 100", () => {
  assert.deepEqual(percentAmounts(104), {
    limit: 100,
    used: 104,
    remaining: 0,
    usedPercent: 104,
  });
  const unknown = { used: null, remaining: null, usedPercent: null };
  assert.deepEqual(percentAmounts(null), { limit: 100, ...unknown });
});

Deno.test("complement() converts a remaining share into a used one", () => {
  assert.equal(complement(96, 100), 4);
  assert.equal(complement(0.25, 1), 0.75);
  assert.equal(complement(-5, 100), 105);
  assert.equal(complement(101, 100), null);
  assert.equal(complement(null, 100), null);
  assert.equal(complement(undefined, 100), null);
});

Deno.test("period() returns the name of a window's length, and the code of its unit", () => {
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

Deno.test("periodOfSeconds() returns an unknown period for an invalid length", () => {
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

Deno.test("periodOfText() returns an unknown period for any other text", () => {
  for (const text of ["", "5", "h", "0h", "-5h", "5 h", "1e3h", "5x", null]) {
    assert.equal(periodOfText(text), UNKNOWN_PERIOD);
  }
});

Deno.test("instantOfMs() and instantOfSeconds() read their own units", () => {
  assert.equal(instantOfMs(1782057600000), "2026-06-21T16:00:00.000Z");
  assert.equal(instantOfSeconds(1782057600), "2026-06-21T16:00:00.000Z");
});

Deno.test("instantOfMs() returns no instant for a missing or implausible time", () => {
  for (const ms of [0, -1, null, undefined, NaN, Infinity, 1e300, 8.64e15]) {
    assert.equal(instantOfMs(ms), null, String(ms));
    assert.equal(instantOfSeconds(ms), null, String(ms));
  }
});

Deno.test("instantOfMs() keeps an instant in the past", () => {
  assert.equal(instantOfMs(1), "1970-01-01T00:00:00.001Z");
});

Deno.test("instantOfText() reads the formats of providers", () => {
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

Deno.test("instantOfText() returns no instant for any other text", () => {
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

function startOf(length: Period, resetsAt: string | null): string | undefined {
  const window = quotaWindow({
    type: "TOKENS_LIMIT",
    unit: "tokens",
    period: length,
    limit: 1,
    used: 0,
    resetsAt,
  });
  const span = windowSpan(window);
  return span && new Date(span.startMs).toISOString().slice(0, 16);
}

Deno.test("windowSpan() starts the window's length before the reset", () => {
  const at = "2026-03-30T10:00:00.000Z";
  assert.equal(startOf(period(5, "hour"), at), "2026-03-30T05:00");
  assert.equal(startOf(period(1, "week"), at), "2026-03-23T10:00");
  assert.equal(startOf(period(90, "minute"), at), "2026-03-30T08:30");
});

Deno.test("windowSpan() subtracts calendar months, and ends at the last day of a shorter month", () => {
  const month = period(1, "month");
  assert.equal(startOf(month, "2026-12-15T08:00:00Z"), "2026-11-15T08:00");
  assert.equal(startOf(month, "2026-03-30T10:00:00Z"), "2026-02-28T10:00");
  assert.equal(startOf(month, "2028-03-31T00:00:00Z"), "2028-02-29T00:00");
  assert.equal(startOf(month, "2026-01-01T00:00:00Z"), "2025-12-01T00:00");
  assert.equal(
    startOf(period(1, "year"), "2026-06-01T00:00:00Z"),
    "2025-06-01T00:00",
  );
});

Deno.test("windowSpan() returns undefined when the reset or the length is unknown", () => {
  assert.equal(startOf(period(5, "hour"), null), undefined);
  assert.equal(startOf(period(5, "hour"), "soon"), undefined);
  assert.equal(startOf(TOTAL, "2026-01-01T00:00:00Z"), undefined);
  assert.equal(startOf(UNKNOWN_PERIOD, "2026-01-01T00:00:00Z"), undefined);
});
