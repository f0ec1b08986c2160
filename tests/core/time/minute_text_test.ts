import assert from "node:assert/strict";
import { minuteText } from "../../../src/core/time/minute_text.ts";

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
