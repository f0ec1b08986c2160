import assert from "node:assert/strict";
import { elapsedShare } from "../../../src/http/page/pace.js";

const DAY_MS = 86_400_000;

/** Returns the share of a window that has passed at an instant. */
function shareAt(
  now: string,
  [window, resets_at]: readonly [string, string | null],
  {
    period_count = null,
    starts_at = null,
  }: {
    readonly period_count?: number | null;
    readonly starts_at?: string | null;
  } = {},
): number | null {
  return elapsedShare(
    { window, resets_at, period_count, starts_at },
    Date.parse(now),
  );
}

Deno.test("elapsedShare() divides each month by its own length", () => {
  const cases: readonly [string, string, number][] = [
    // November has 30 days, February 28 or 29, and the year of the reset counts.
    ["2026-11-16T00:00Z", "2026-12-01T00:00:00Z", 15 / 30],
    ["2026-01-16T12:00Z", "2026-02-01T00:00:00Z", 15.5 / 31],
    ["2026-02-15T00:00Z", "2026-03-01T00:00:00Z", 14 / 28],
    ["2028-02-15T12:00Z", "2028-03-01T00:00:00Z", 14.5 / 29],
    ["2026-12-31T00:00Z", "2027-01-01T00:00:00Z", 30 / 31],
    // A month of a subscription begins on its own day.
    ["2026-03-17T06:00Z", "2026-04-17T06:00:00Z", 0],
    ["2026-03-30T00:00Z", "2026-03-31T00:00:00Z", 30 / 31],
  ];
  for (const [now, reset, expected] of cases) {
    const share = shareAt(now, ["monthly", reset]) ?? NaN;
    assert.ok(Math.abs(share - expected) < 1e-9, `${now}: ${share}`);
  }
});

Deno.test("elapsedShare() supports years, quarters and windows of constant length", () => {
  const reset = "2027-01-01T00:00:00Z";
  const share = (window: string, now: string, period_count = 1) =>
    shareAt(now, [window, reset], { period_count });
  assert.equal(share("yearly", "2026-01-01T00:00Z"), 0);
  assert.equal(share("three_month", "2026-10-01T00:00Z", 3), 0);
  assert.equal(share("five_hour", "2026-12-31T21:30Z", 5), 0.5);
  assert.equal(share("weekly", "2026-12-25T00:00Z"), 0);
  assert.equal(share("daily", "2026-12-31T18:00Z"), 0.75);
});

Deno.test("elapsedShare() uses the start that the gateway names, in any notation", () => {
  const ends = ["2026-12-01T00:00:00Z", "2026-12-01T01:00:00+01:00"];
  for (const resets_at of ends) {
    const share = shareAt("2026-11-16T00:00Z", ["monthly", resets_at], {
      starts_at: "2026-11-01T00:00:00.000Z",
    });
    assert.equal(share, 0.5);
  }
  const share = shareAt(
    "2026-11-16T00:00Z",
    ["fortnight", "2026-11-23T00:00:00Z"],
    { starts_at: "2026-11-09T00:00:00Z" },
  );
  assert.equal(share, 0.5);
});

Deno.test("elapsedShare() is null when the window, its reset or its length is unknown", () => {
  const now = "2026-11-16T00:00Z";
  const reset = new Date(Date.parse(now) + DAY_MS).toISOString();
  assert.equal(shareAt(now, ["monthly", null]), null);
  assert.equal(shareAt(now, ["monthly", "soon"]), null);
  assert.equal(shareAt(now, ["total", reset]), null);
  assert.equal(shareAt(now, ["unknown", reset]), null);
  assert.equal(shareAt(now, ["five_hour", reset]), null);
  assert.equal(shareAt(now, ["five_hour", reset], { period_count: 0 }), null);
  // The reset is over, or further away than the window is long.
  assert.equal(shareAt(now, ["monthly", "2026-11-15T00:00:00Z"]), null);
  assert.equal(shareAt(now, ["daily", "2026-11-20T00:00:00Z"]), null);
});
