import assert from "node:assert/strict";
import { period, TOTAL, UNKNOWN_PERIOD } from "../../src/quotas/period.ts";
import { quotaWindow, windowSpan } from "../../src/quotas/window.ts";
import type { Period } from "../../src/quotas/period.ts";

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

Deno.test("windowSpan() goes back from the reset by the window's length", () => {
  const at = "2026-03-30T10:00:00.000Z";
  assert.equal(startOf(period(5, "hour"), at), "2026-03-30T05:00");
  assert.equal(startOf(period(1, "week"), at), "2026-03-23T10:00");
  assert.equal(startOf(period(90, "minute"), at), "2026-03-30T08:30");
});

Deno.test("windowSpan() goes back by months of the calendar, to their last day where one is too short", () => {
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

Deno.test("windowSpan() recognizes nothing where the reset or the length is unknown", () => {
  assert.equal(startOf(period(5, "hour"), null), undefined);
  assert.equal(startOf(period(5, "hour"), "soon"), undefined);
  assert.equal(startOf(TOTAL, "2026-01-01T00:00:00Z"), undefined);
  assert.equal(startOf(UNKNOWN_PERIOD, "2026-01-01T00:00:00Z"), undefined);
});
