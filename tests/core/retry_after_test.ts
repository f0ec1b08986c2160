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
    [{ "retry-after": "2592000" }, 2_592_000_000],
    [{ "retry-after": "3024000" }, 3_024_000_000],
    [{ "retry-after": "3024001" }, undefined],
    [{ "retry-after-ms": "3024000000" }, 3_024_000_000],
    [{ "retry-after-ms": "3024000001" }, undefined],
    [{ "retry-after-ms": "3024000001", "retry-after": "3" }, 3000],
    [{ "retry-after": "9".repeat(30) }, undefined],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after-ms": "9".repeat(30) }, undefined],
    [{ "retry-after-ms": "Thu, 01 Jan 2026 00:00:30 GMT" }, undefined],
    [{ "retry-after": "Sat, 31 Jan 2026 00:00:00 GMT" }, 2_592_000_000],
    [{ "retry-after": "Thu, 05 Feb 2026 00:00:00 GMT" }, 3_024_000_000],
    [{ "retry-after": "Thu, 05 Feb 2026 00:00:01 GMT" }, undefined],
    [{ "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, undefined],
    [{ "retry-after": "Thu Jan  1 00:00:30 2026" }, 30_000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 +0000" }, 30_000],
    [{ "retry-after": "Monkeys of 2026" }, undefined],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT, 5" }, undefined],
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

Deno.test("saneWaitHeader() forwards plausible waits that a timer holds, and leaves out the rest", () => {
  const cases: readonly [string, string | undefined][] = [
    ...[
      "0",
      "0.5",
      "17",
      "2147482",
      "Thu, 01 Jan 2026 00:00:30 GMT",
      "Thu, 01 Jan 1970 00:00:00 GMT",
    ].map((value): [string, string] => [value, value]),
    ...["2147484", "2592000", "3024000", "Sat, 31 Jan 2026 00:00:00 GMT"]
      .map((value): [string, string] => [value, "2147483"]),
    ...[
      "3024001",
      "9".repeat(30),
      "9".repeat(400),
      "Thu, 05 Feb 2026 00:00:01 GMT",
      "Fri, 31 Dec 9999 23:59:59 GMT",
      "Fri, 31 Dec 9999",
      "1e30",
      "Infinity",
      "NaN",
      "-1",
      "soon",
      "",
      "5, 7",
      "0x10",
    ].map((value): [string, undefined] => [value, undefined]),
  ];
  for (const [value, expected] of cases) {
    assert.equal(saneWaitHeader("retry-after", value, NOW_MS), expected, value);
  }
  const inMs = (value: string) =>
    saneWaitHeader("retry-after-ms", value, NOW_MS);
  assert.equal(inMs("16500"), "16500");
  assert.equal(inMs("2147483001"), "2147483000");
  assert.equal(inMs("3024000001"), undefined);
  assert.equal(inMs("Thu, 01 Jan 2026 00:00:30 GMT"), undefined);
});
