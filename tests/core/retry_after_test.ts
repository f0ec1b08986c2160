import assert from "node:assert/strict";
import { retryAfterMs, saneWaitHeader } from "../../src/core/retry_after.ts";

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
    [{ "retry-after": "1e30" }, undefined],
    [{ "retry-after": "Infinity" }, undefined],
    [{ "retry-after": "NaN" }, undefined],
    [{ "retry-after": "5, 7" }, undefined],
    [{ "retry-after-ms": "-1" }, undefined],
    [{ "retry-after": `1${"0".repeat(30)}` }, 2_147_483_000],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after-ms": `1${"0".repeat(30)}` }, 2_147_483_000],
    [{ "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, 2_147_483_000],
    [{ "retry-after": "Fri, 99 Dec 9999 23:59:59 GMT" }, undefined],
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

Deno.test("saneWaitHeader() leaves what a client can keep, and nothing else", () => {
  const date = "Thu, 01 Jan 2026 00:00:30 GMT";
  const seconds: readonly [string, string | undefined][] = [
    ...["0", "0.5", "17", "2147483", date].map((value) =>
      [value, value] as [string, string]
    ),
    ["2147484", "2147483"],
    [`1${"0".repeat(30)}`, "2147483"],
    ["9".repeat(400), undefined],
    ...["1e30", "Infinity", "-1", "soon", "", "5, 7", "0x10"].map((value) =>
      [value, undefined] as [string, undefined]
    ),
  ];
  for (const [value, expected] of seconds) {
    assert.equal(saneWaitHeader("retry-after", value), expected, value);
  }
  assert.equal(saneWaitHeader("retry-after-ms", "16500"), "16500");
  assert.equal(saneWaitHeader("retry-after-ms", "2147483001"), "2147483000");
});
