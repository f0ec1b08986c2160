import assert from "node:assert/strict";
import { retryAfterMs } from "../../src/core/retry_after.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

Deno.test("retryAfterMs() reads milliseconds, seconds and dates", () => {
  const cases: readonly [Record<string, string>, number | undefined][] = [
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after-ms": "250", "retry-after": "3" }, 250],
    [{ "retry-after-ms": "soon", "retry-after": "3" }, 3000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "-1" }, undefined],
    [{ "retry-after": "Thursday, 01-Jan-26 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Thu Jan  1 00:00:30 2026 GMT" }, 30_000],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "in 5" }, undefined],
    [{ "retry-after": "1e3" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after-ms": "" }, undefined],
    [{}, undefined],
  ];
  for (const [headers, expected] of cases) {
    assert.equal(
      retryAfterMs(new Headers(headers), NOW_MS),
      expected,
      JSON.stringify(headers),
    );
  }
});
