import assert from "node:assert/strict";
import { PROTOCOLS } from "../../../../src/base/protocol.ts";
import {
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { good, status } from "../../../support/upstream/bad_provider.ts";
import { steps } from "../../../support/steps.ts";

/** Errors of providers about a request that exceeds a rate limit by itself, with their headers. */
const OVERSIZED = [
  [
    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 132819. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.",
    {},
  ],
  ["Extra usage is required for long context requests.", {
    "retry-after": "3600",
    // Anthropic sends these headers with each 429.
    "x-should-retry": "true",
  }],
  ["Usage credits are required for long context requests.", {}],
  ["Rate limit reached on tokens per minute: Limit 8000, Requested 9,012.", {
    "retry-after": "20",
  }],
  ["A single request may not take more than the limit per minute", {}],
  ["Too many tokens in this request. Your plan allows 16000 a minute.", {}],
] as const;

const LINES = [
  ["plain", {}],
  ["slots", { max_concurrent: 2 }],
  ["queue", { queue: { max_wait: 60_000 } }],
  ["queue and slots", { max_concurrent: 2, queue: { max_wait: 60_000 } }],
] as const;

for (const protocol of PROTOCOLS) {
  for (const mode of ["native", "translated"] as const) {
    for (const [name, entry] of LINES) {
      Deno.test(`a request that exceeds a rate limit by itself is sent once and causes no cool-down: ${protocol}, ${mode}, ${name}`, (t) =>
        steps(t, OVERSIZED, async ([message, headers]) => {
          const refused = status(429, {
            type: "rate_limit_error",
            errorCode: "rate_limit_exceeded",
            message,
            headers,
          });
          const one = connectionTo("one", { protocol, mode }, entry);
          const acts = [...Array.from({ length: 4 }, () => refused), good];
          const scene = await openScene([one], { one: acts });
          for (let count = 1; count <= 4; count++) {
            const { status, headers, line } = await scene.ask(protocol);
            assert.equal(status, 429);
            assert.equal(headers.get("x-should-retry"), "false");
            assert.equal(line.failure, "refused");
            assert.equal(scene.providers.asked.length, count);
            if (mode === "native") continue;
            assert.equal(headers.get("retry-after"), "0");
          }
          const next = await scene.ask(protocol);
          assert.equal(next.status, 200);
          assert.equal(next.line.waited_ms, undefined);
        }));
    }
  }
}

Deno.test("a request that exceeds the rate limit of one account is sent once to another", async () => {
  const to = { protocol: "chat", mode: "native" } as const;
  const [[message]] = OVERSIZED;
  const refused = status(429, { message });
  const connections = [connectionTo("one", to), connectionTo("two", to)];
  const served = await openScene(connections, { one: [refused], two: [good] });
  assert.equal((await served.ask("chat")).status, 200);
  assert.deepEqual(served.providers.hosts(), ["one", "two"]);
  const both = await openScene(connections, { one: [refused], two: [refused] });
  const { status: code, headers } = await both.ask("chat");
  assert.equal(code, 429);
  assert.equal(headers.get("x-should-retry"), "false");
  assert.deepEqual(both.providers.hosts(), ["one", "two"]);
});

Deno.test("clients may retry when one of two accounts can serve the request soon", async () => {
  const to = { protocol: "chat", mode: "translated" } as const;
  const [[message]] = OVERSIZED;
  const connections = [connectionTo("one", to), connectionTo("two", to)];
  const scene = await openScene(connections, {
    one: [status(429, { headers: { "retry-after": "20" } })],
    two: [status(429, { type: "rate_limit_error", message })],
  });
  const { status: code, headers } = await scene.ask("chat");
  assert.equal(code, 429);
  assert.equal(headers.get("x-should-retry"), null);
  assert.equal(headers.get("retry-after"), "20");
});

Deno.test("a temporary rate limit is repeated although its message names sizes", (t) =>
  steps(t, [
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    "Too many tokens, please wait before trying again.",
    "Number of request tokens has exceeded your per-minute rate limit",
  ], async (message) => {
    const to = { protocol: "chat", mode: "native" } as const;
    const scene = await openScene([connectionTo("one", to)], {
      one: [status(429, { message }), good],
    });
    assert.equal((await scene.ask("chat")).status, 200);
  }));
