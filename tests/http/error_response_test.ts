import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import {
  errorResponse,
  toGatewayError,
} from "../../src/http/error_response.ts";
import { PROTOCOLS } from "../support/wire/ask.ts";

Deno.test("toGatewayError() leaves a gateway's error as it is", () => {
  const error = new GatewayError("not_found", "Cannot find it");
  assert.equal(toGatewayError(error), error);
});

Deno.test("toGatewayError() withholds everything of what nobody foresaw", () => {
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

  Deno.test(`a client of ${protocol} repeats what may pass by itself after the time that the error names`, () => {
    const error = new GatewayError("overloaded", "Cannot take it", {
      headers: { "retry-after": "1" },
    });
    const { headers } = errorResponse(error, { protocol, requestId: "req_1" });
    assert.equal(headers.get("retry-after"), "1");
    assert.equal(headers.get("retry-after-ms"), null);
    assert.equal(headers.get("x-should-retry"), null);
  });
}
