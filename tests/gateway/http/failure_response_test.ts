import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/error.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { failureResponse } from "../../../src/gateway/http/failure_response.ts";
import { exhaustedFailure } from "../../../src/gateway/relay/routing/outlook.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";
import { PROTOCOLS } from "../../support/wire/ask.ts";
import { steps } from "../../support/steps.ts";

const YEAR_MS = 365 * 86_400_000;

/** Fails a request with an error, and returns the response and the log lines. */
function fail(thrown: unknown, protocol: Protocol = "chat") {
  const { record } = openTestRecord();
  const log = createMemoryLog();
  const { response } = failureResponse(thrown, { protocol, record, log });
  return { response, record, entries: log.entries };
}

for (const protocol of PROTOCOLS) {
  Deno.test(`the retry-after header for a caller of ${protocol} never overflows the client's timer`, () => {
    const failure = exhaustedFailure({ atMs: NOW_MS + YEAR_MS }, NOW_MS);
    const { response: { headers, status } } = fail(failure, protocol);
    assert.equal(status, 429);
    assert.equal(headers.get("retry-after"), "2147483");
    assert.equal(headers.get("x-should-retry"), "false");
  });
}

Deno.test("the facts of a failed request name the provider's timeout, and omit the reason of an invalid request", () => {
  const factsOf = (kind: "timeout" | "overloaded" | "invalid_request") => {
    const { record } = fail(new GatewayError(kind, "some words"));
    const { error, failure, reason } = record.facts;
    return { error, failure, reason };
  };
  assert.deepEqual(factsOf("timeout"), {
    error: "timeout",
    failure: "silent",
    reason: "some words",
  });
  assert.deepEqual(factsOf("overloaded"), {
    error: "overloaded",
    failure: undefined,
    reason: "some words",
  });
  assert.deepEqual(factsOf("invalid_request"), {
    error: "invalid_request",
    failure: undefined,
    reason: undefined,
  });
});

Deno.test("an error has its status, its headers and its body", async () => {
  const { response } = fail(
    new GatewayError("rate_limited", "Cannot take more", {
      code: "c",
      headers: { "retry-after": "1", "content-type": "text/html" },
    }),
  );
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "1");
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(await response.json(), {
    error: {
      message: "Cannot take more",
      type: "rate_limit_error",
      param: null,
      code: "c",
    },
  });
});

Deno.test("an error of the Messages protocol has the request's id", async () => {
  const error = new GatewayError("upstream", "Cannot reach it");
  const { response } = fail(error, "messages");
  assert.equal(response.status, 502);
  assert.deepEqual(await response.json(), {
    type: "error",
    error: { type: "api_error", message: "Cannot reach it" },
    request_id: "req_1",
  });
});

for (const protocol of PROTOCOLS) {
  Deno.test(`an unknown or expired token stops every client of ${protocol}`, () => {
    const error = new GatewayError("unauthenticated", "Cannot accept it");
    const { headers } = fail(error, protocol).response;
    assert.equal(headers.get("x-should-retry"), "false");
    assert.equal(headers.get("retry-after-ms"), "1000");
    // Claude Code stops at a 401 only if its wait exceeds a minute. Codex would wait that long.
    const seconds = Number(headers.get("retry-after"));
    assert.equal(seconds > 60, protocol === "messages", `${seconds} s`);
    assert.equal(seconds === 0, protocol !== "messages");
  });

  Deno.test(`a client of ${protocol} retries a temporary error after the named time`, () => {
    const error = new GatewayError("overloaded", "Cannot take it", {
      headers: { "retry-after": "1" },
    });
    const { headers } = fail(error, protocol).response;
    assert.equal(headers.get("retry-after"), "1");
    assert.equal(headers.get("retry-after-ms"), null);
    assert.equal(headers.get("x-should-retry"), null);
  });
}

const SECRET = "my secret prompt";

/** Returns an error whose message changed after its stack was recorded. */
function renamed(): Error {
  const error = new Error(`x\n    at ${SECRET}`);
  error.message = "harmless";
  return error;
}

/** Returns the platform's error about broken JSON, which quotes the JSON. */
function jsonFault(): unknown {
  try {
    return JSON.parse(SECRET);
  } catch (error) {
    return error;
  }
}

function withoutStack(): Error {
  const error = new Error(SECRET);
  delete error.stack;
  return error;
}

class OddError extends Error {
  override readonly name = "OddError";
  readonly status = 200;
  readonly body = SECRET;
}

/** Unforeseen errors, each with true if the log has frames of its stack. */
const UNFORESEEN: readonly (readonly [
  name: string,
  thrown: unknown,
  hasStack: boolean,
])[] = [
  ["a plain error", new Error(SECRET), true],
  ["an error with its own fields", new OddError(SECRET), true],
  ["an error of JSON.parse", jsonFault(), true],
  [
    "an error with a message that looks like frames",
    new Error(`x\n    at ${SECRET}\n  at y`),
    true,
  ],
  [
    "an error with only a message that looks like frames",
    new Error(`\n    at ${SECRET}`),
    true,
  ],
  ["an error with a changed message", renamed(), true],
  ["an error without a stack", withoutStack(), false],
  ["an error with a cause", new Error("x", { cause: new Error(SECRET) }), true],
  [
    "an aggregate error",
    new AggregateError([new OddError(SECRET)], SECRET),
    true,
  ],
  ["a text", SECRET, false],
  ["an object like a gateway's error", {
    message: SECRET,
    kind: "not_found",
  }, false],
  ["a number", 1, false],
  ["null", null, false],
  ["nothing", undefined, false],
];

Deno.test("an unforeseen error is a 500, and the log has its class and stack but not its message", async (t) => {
  await steps(t, UNFORESEEN, async ([, thrown, hasStack]) => {
    for (const protocol of PROTOCOLS) {
      const { response, entries: [entry] } = fail(thrown, protocol);
      const text = await response.text();
      assert.equal(response.status, 500);
      assert.match(text, /"type":"(?:api|server)_error"/);
      assert.equal(entry?.event, "unforeseen");
      const { request_id, exception, stack } = entry.fields;
      assert.equal(request_id, "req_1");
      const name = thrown instanceof Error ? thrown.name : typeof thrown;
      assert.equal(exception, name);
      assert.ok(Array.isArray(stack));
      for (const frame of stack) assert.match(frame, /^at /);
      const isOfTest = /failure_response_test\.ts:\d+/.test(stack.join());
      assert.equal(isOfTest, hasStack);
      const shown = JSON.stringify([...response.headers, entry.fields]);
      assert.ok(!(text + shown).includes("secret"), text + shown);
    }
  });
});
