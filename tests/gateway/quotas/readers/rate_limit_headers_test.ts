import assert from "node:assert/strict";
import { readerOf } from "../../../../src/gateway/quotas/readers/mod.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { assertWindows, sourceOf } from "../quota_case.ts";

function read(
  kind: "openai" | "groq" | "headers",
  headers: Readonly<Record<string, string>>,
): QuotaWindow[] | undefined {
  const reader = readerOf(sourceOf(kind).quota);
  return reader.headers?.parse(new Headers(headers), NOW_MS);
}

const PLAIN = {
  "x-ratelimit-limit-requests": "60",
  "x-ratelimit-remaining-requests": "59",
  "x-ratelimit-reset-requests": "1s",
  "x-ratelimit-limit-tokens": "150000",
  "x-ratelimit-remaining-tokens": "149250",
  "x-ratelimit-reset-tokens": "6m0.5s",
};

Deno.test("openai headers give windows of unknown length", () => {
  assertWindows(read("openai", PLAIN), [
    "REQUESTS_LIMIT unknown requests 60 1 59 1.66666666667 2026-01-01T00:00:01.000Z",
    "TOKENS_LIMIT unknown tokens 150000 750 149250 0.5 2026-01-01T00:06:00.500Z",
  ]);
});

Deno.test("groq headers count requests per day and tokens per minute", () => {
  const windows = read("groq", PLAIN) ?? [];
  assert.deepEqual(windows.map((one) => [one.type, one.window]), [
    ["REQUESTS_LIMIT", "daily"],
    ["TOKENS_LIMIT", "minute"],
  ]);
});

Deno.test("headers with a window's length in their name are read in each dialect", () => {
  assertWindows(
    read("headers", {
      "x-ratelimit-limit-requests-day": "1000",
      "x-ratelimit-remaining-requests-day": "900",
      "x-ratelimit-reset-requests-day": "33011.382867",
      "x-ratelimit-limit-tokens-per-minute": "100",
      "x-ratelimit-reset-tokens-per-minute": "1786685679",
      "x-ratelimit-remaining-tokens-1h": "5",
      "x-ratelimit-reset-tokens-1h": "2026-01-01T01:00:00Z",
    }),
    [
      "REQUESTS_LIMIT daily requests 1000 100 900 10 2026-01-01T09:10:11.382Z",
      "TOKENS_LIMIT minute tokens 100 - - - 2026-08-14T05:34:39.000Z",
      "TOKENS_LIMIT hourly tokens - - 5 - 2026-01-01T01:00:00.000Z",
    ],
  );
});

Deno.test("headers with implausible values are ignored", () => {
  assert.deepEqual(
    read("headers", {
      "x-ratelimit-limit-requests": "many",
      "x-ratelimit-remaining-requests": "",
      "x-ratelimit-limit-tokens": "9".repeat(400),
      "x-ratelimit-limit-images": "5",
      "x-ratelimit-limit-requests-fortnight": "5",
    }),
    [],
  );
});
