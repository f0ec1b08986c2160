import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import {
  errorResponse,
  failureResponse,
  toGatewayError,
  unforeseenFields,
} from "../../src/http/failure_response.ts";
import { exhaustedFailure } from "../../src/relay/routing/outlook.ts";
import { createMemoryLog } from "../support/fakes/memory_log.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { openTestRecord } from "../support/gateway/open_record.ts";
import { PROTOCOLS } from "../support/wire/ask.ts";

const YEAR_MS = 365 * 86_400_000;

for (const protocol of PROTOCOLS) {
  Deno.test(`a quota that is exhausted for years gives a caller of ${protocol} no wait that a timer cannot hold`, () => {
    const failure = exhaustedFailure({ atMs: NOW_MS + YEAR_MS }, NOW_MS);
    const { response: { headers, status } } = failureResponse(failure, {
      protocol,
      record: openTestRecord().record,
      log: createMemoryLog(),
    });
    assert.equal(status, 429);
    assert.equal(headers.get("retry-after"), "2147483");
    assert.equal(headers.get("x-should-retry"), "false");
  });
}

Deno.test("the facts of a failed request name a provider's timeout, and no reason that may quote the caller", () => {
  const log = createMemoryLog();
  const factsOf = (kind: "timeout" | "overloaded" | "invalid_request") => {
    const { record } = openTestRecord();
    const thrown = new GatewayError(kind, "some words");
    failureResponse(thrown, { protocol: "chat", record, log });
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

Deno.test("toGatewayError() returns a gateway's error unchanged", () => {
  const error = new GatewayError("not_found", "Cannot find it");
  assert.equal(toGatewayError(error), error);
});

Deno.test("toGatewayError() hides everything of an unforeseen error", () => {
  const secret = "a prompt";
  const thrown: readonly unknown[] = [
    new Error(secret),
    Object.assign(new TypeError(secret), { status: 200, body: secret }),
    new AggregateError([new Error(secret)], secret),
    secret,
    { message: secret, kind: "not_found" },
    null,
    undefined,
  ];
  for (const one of thrown) {
    const error = toGatewayError(one);
    assert.equal(error.status, 500);
    assert.equal(error.kind, "internal");
    assert.equal(error.cause, one);
    const { message, param, type, code, details, headers } = error;
    const shown = JSON.stringify([
      message,
      param,
      type,
      code,
      details,
      headers,
    ]);
    assert.ok(!shown.includes(secret));
  }
});

Deno.test("errorResponse() has the error's status, headers and body", async () => {
  const error = new GatewayError("rate_limited", "Cannot take more", {
    code: "c",
    headers: { "retry-after": "1", "content-type": "text/html" },
  });
  const response = errorResponse(error, {
    protocol: "chat",
    requestId: "req_1",
  });
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

Deno.test("errorResponse() names the request in the Messages shape", async () => {
  const error = new GatewayError("upstream", "Cannot reach it");
  const response = errorResponse(error, {
    protocol: "messages",
    requestId: "req_1",
  });
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
    const { headers } = errorResponse(error, { protocol, requestId: "req_1" });
    assert.equal(headers.get("x-should-retry"), "false");
    assert.equal(headers.get("retry-after-ms"), "1000");
    // Claude Code stops at a 401 only where it would have to wait for more than a minute; Codex would wait for it.
    const seconds = Number(headers.get("retry-after"));
    assert.equal(seconds > 60, protocol === "messages", `${seconds} s`);
    assert.equal(seconds === 0, protocol !== "messages");
  });

  Deno.test(`a client of ${protocol} retries a temporary error after the time that it names`, () => {
    const error = new GatewayError("overloaded", "Cannot take it", {
      headers: { "retry-after": "1" },
    });
    const { headers } = errorResponse(error, { protocol, requestId: "req_1" });
    assert.equal(headers.get("retry-after"), "1");
    assert.equal(headers.get("retry-after-ms"), null);
    assert.equal(headers.get("x-should-retry"), null);
  });
}

const SECRET = "my secret prompt";

Deno.test("unforeseenFields() returns the class and the stack of an error", () => {
  const { request_id, exception, stack } = unforeseenFields(
    new TypeError("x"),
    "req_1",
  );
  assert.equal(request_id, "req_1");
  assert.equal(exception, "TypeError");
  assert.ok(Array.isArray(stack) && stack.length > 0);
  for (const frame of stack) assert.match(frame, /^at /);
  assert.match(stack[0] ?? "", /failure_response_test\.ts:\d+/);
});

/** An error whose stack was taken before its message became another one. */
function renamed(): Error {
  const error = new Error(`x\n    at ${SECRET}`);
  error.message = "harmless";
  return error;
}

/** Throws what the platform says of broken JSON, which quotes it. */
function jsonFault(): unknown {
  try {
    return JSON.parse(SECRET);
  } catch (error) {
    return error;
  }
}

Deno.test("unforeseenFields() leaves out the message", async (t) => {
  const cases: Readonly<Record<string, unknown>> = {
    "a plain one": new Error(SECRET),
    "that of JSON.parse": jsonFault(),
    "one that looks like frames": new Error(`x\n    at ${SECRET}\n  at y`),
    "one that looks like frames alone": new Error(`\n    at ${SECRET}`),
    "one that was changed": renamed(),
    "that of a cause": new Error("x", { cause: new Error(SECRET) }),
    "those of an aggregate": new AggregateError([new Error(SECRET)], SECRET),
  };
  for (const [name, thrown] of Object.entries(cases)) {
    await t.step(name, () => {
      const fields = unforeseenFields(thrown, "req_1");
      const text = JSON.stringify(fields);
      assert.ok(!text.includes("secret"), text);
    });
  }
});

Deno.test("unforeseenFields() accepts any thrown value", () => {
  for (const thrown of [SECRET, 1, null, undefined, { message: SECRET }]) {
    assert.deepEqual(unforeseenFields(thrown, "req_1"), {
      request_id: "req_1",
      exception: typeof thrown,
      stack: [],
    });
  }
  const bare = new Error(SECRET);
  delete bare.stack;
  assert.deepEqual(unforeseenFields(bare, "req_1").stack, []);
});
