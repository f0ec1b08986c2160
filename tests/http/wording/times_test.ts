import assert from "node:assert/strict";
import { localTime, withLocalTimes } from "../../../src/http/wording/times.js";

Deno.test("withLocalTimes() replaces every instant of the gateway's errors, and nothing else", () => {
  const at = localTime(Date.UTC(2026, 0, 1, 0, 10));
  const cases: readonly [string, string][] = [
    ["It will reset at 2026-01-01T00:10:00Z.", `It will reset at ${at}.`],
    [
      "It is available again at 2026-01-01 00:10 UTC, when it will reset.",
      `It is available again at ${at}, when it will reset.`,
    ],
    ["From 2026-01-01T00:10:00.000Z on", `From ${at} on`],
    ["On 2026-01-01 at 00:10 UTC", "On 2026-01-01 at 00:10 UTC"],
    ["2026-01-01 00:10", "2026-01-01 00:10"],
    ["2026-99-01 00:10 UTC", "2026-99-01 00:10 UTC"],
  ];
  for (const [text, expected] of cases) {
    assert.equal(withLocalTimes(text), expected);
  }
});
