import assert from "node:assert/strict";
import { responseHeaders } from "../../src/upstream/headers.ts";

const KEY = "upstream-key-0123456789";

function shownOf(headers: Headers, isRenamed = false): [string, string][] {
  const secrets = { areIn: (text: string) => text.includes(KEY) };
  const clock = { now: () => Date.UTC(2026, 0, 1) };
  return responseHeaders(headers, { isRenamed, secrets, clock });
}

function shown(
  headers: Readonly<Record<string, string>>,
  isRenamed = false,
): Record<string, string> {
  return Object.fromEntries(shownOf(new Headers(headers), isRenamed));
}

Deno.test("answerHeaders() passes an upstream's headers back", () => {
  const open = {
    "anthropic-ratelimit-requests-remaining": "1",
    "cache-control": "no-cache",
    "content-type": "text/event-stream",
    "openai-processing-ms": "5",
    "request-id": "up_1",
    "retry-after": "3",
    "x-codex-turn-state": "t",
    "x-ratelimit-remaining-tokens": "1",
    "x-request-id": "up_1",
  };
  assert.deepEqual(shown(open), open);
});

Deno.test("answerHeaders() withholds what belongs to the upstream's connection", () => {
  const withheld = {
    "alt-svc": 'h3=":443"',
    "connection": "keep-alive",
    "content-encoding": "gzip",
    "content-length": "10",
    "keep-alive": "timeout=5",
    "proxy-authenticate": "Basic",
    "proxy-connection": "keep-alive",
    "set-cookie": "session=1",
    "strict-transport-security": "max-age=1",
    "te": "trailers",
    "trailer": "x",
    "transfer-encoding": "chunked",
    "upgrade": "h2c",
    "www-authenticate": "Bearer",
  };
  assert.deepEqual(shown(withheld), {});
});

Deno.test("answerHeaders() withholds every cookie of several", () => {
  const headers = new Headers([["set-cookie", "a=1"], ["set-cookie", "b=2"]]);
  assert.deepEqual(shownOf(headers), []);
});

Deno.test("answerHeaders() withholds the headers that the connection header names", () => {
  const headers = {
    "connection": "X-Hop, close",
    "x-hop": "1",
    "x-kept": "1",
  };
  assert.deepEqual(shown(headers), { "x-kept": "1" });
});

Deno.test("answerHeaders() keeps the upstream's model back where it has another name", () => {
  const headers = { "openai-model": "gpt-upstream" };
  assert.deepEqual(shown(headers), headers);
  assert.deepEqual(shown(headers, true), {});
});

Deno.test("answerHeaders() withholds every value with a secret", () => {
  const headers = { "x-debug": `key=${KEY}`, "x-kept": "1" };
  assert.deepEqual(shown(headers), { "x-kept": "1" });
});
