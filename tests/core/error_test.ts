import assert from "node:assert/strict";
import { type ErrorKind, GatewayError, shorten } from "../../src/core/error.ts";

/** The table of docs/design.md#errors. */
const STATUSES: readonly (readonly [ErrorKind, number])[] = [
  ["invalid_request", 400],
  ["unauthenticated", 401],
  ["forbidden", 403],
  ["not_found", 404],
  ["method_not_allowed", 405],
  ["body_timeout", 408],
  ["body_too_large", 413],
  ["unsupported_media_type", 415],
  ["upgrade_required", 426],
  ["rate_limited", 429],
  ["internal", 500],
  ["upstream", 502],
  ["overloaded", 503],
  ["timeout", 504],
];

Deno.test("GatewayError has the status of its kind", () => {
  for (const [kind, status] of STATUSES) {
    assert.equal(new GatewayError(kind, "Cannot").status, status, kind);
  }
});

Deno.test("GatewayError has the values of its options", () => {
  const cause = new Error("why");
  const error = new GatewayError("not_found", "Cannot find it", {
    param: "model",
    type: "own_type",
    code: "model_not_found",
    details: { error_code: "x" },
    headers: { "retry-after": "1" },
    cause,
  });
  assert.ok(error instanceof Error);
  assert.equal(error.name, "GatewayError");
  assert.equal(error.message, "Cannot find it");
  assert.equal(error.param, "model");
  assert.equal(error.type, "own_type");
  assert.equal(error.code, "model_not_found");
  assert.deepEqual(error.details, { error_code: "x" });
  assert.deepEqual(error.headers, { "retry-after": "1" });
  assert.equal(error.cause, cause);
});

Deno.test("GatewayError without options has no headers and leaves the rest out", () => {
  const { param, type, code, details, headers, cause } = new GatewayError(
    "internal",
    "Cannot",
  );
  assert.deepEqual({ param, type, code, details, cause }, {
    param: undefined,
    type: undefined,
    code: undefined,
    details: undefined,
    cause: undefined,
  });
  assert.deepEqual(headers, {});
});

Deno.test("GatewayError stays short even when it quotes a long text", () => {
  const { message, param } = new GatewayError(
    "invalid_request",
    "x".repeat(100_000),
    { param: "y".repeat(100_000) },
  );
  assert.equal(message.length, 2001);
  assert.equal(param?.length, 201);
});

Deno.test("shorten() keeps a text up to the length", () => {
  assert.equal(shorten("", 3), "");
  assert.equal(shorten("abc", 3), "abc");
});

Deno.test("shorten() cuts a longer text and marks the cut", () => {
  assert.equal(shorten("abcd", 3), "abc…");
});

Deno.test("shorten() cuts no character in half", () => {
  assert.equal(shorten("ab😀", 3), "ab\ufffd…");
});
