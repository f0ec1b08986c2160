import assert from "node:assert/strict";
import { type ErrorKind, GatewayError } from "../../src/base/error.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { steps } from "../support/steps.ts";

/** The types of docs/design.md#errors: OpenAI shape, Messages shape. */
const TYPES: readonly (readonly [ErrorKind, string, string])[] = [
  ["invalid_request", "invalid_request_error", "invalid_request_error"],
  ["unauthenticated", "authentication_error", "authentication_error"],
  ["forbidden", "permission_error", "permission_error"],
  ["not_found", "not_found_error", "not_found_error"],
  ["method_not_allowed", "invalid_request_error", "invalid_request_error"],
  ["body_timeout", "timeout_error", "timeout_error"],
  ["body_too_large", "request_too_large", "request_too_large"],
  ["unsupported_media_type", "invalid_request_error", "invalid_request_error"],
  ["upgrade_required", "invalid_request_error", "invalid_request_error"],
  ["rate_limited", "rate_limit_error", "rate_limit_error"],
  ["internal", "server_error", "api_error"],
  ["upstream", "upstream_error", "api_error"],
  ["overloaded", "overloaded_error", "overloaded_error"],
  ["timeout", "timeout_error", "timeout_error"],
];

Deno.test("encodeError() writes the type of each kind in the OpenAI shape and in the Messages shape", (t) =>
  steps(t, TYPES, ([kind, openai, messages]) => {
    const error = new GatewayError(kind, "Cannot do it");
    for (const protocol of ["chat", "responses"] as const) {
      assert.deepEqual(CODECS[protocol].encodeError(error, "req_1"), {
        error: {
          message: "Cannot do it",
          type: openai,
          param: null,
          code: null,
        },
      });
    }
    assert.deepEqual(
      CODECS.messages.encodeError(error, "req_1"),
      {
        type: "error",
        error: { type: messages, message: "Cannot do it" },
        request_id: "req_1",
      },
    );
  }));

const FULL = new GatewayError("invalid_request", "Cannot do it", {
  param: "thread",
  type: "own_type",
  code: "own_code",
  details: { error_code: "thread_unsupported_request" },
  headers: { "retry-after": "1" },
  cause: new Error("secret"),
});

Deno.test("encodeError() writes only param, type and code in the OpenAI shape", () => {
  assert.deepEqual(CODECS.chat.encodeError(FULL, "req_1"), {
    error: {
      message: "Cannot do it",
      type: "own_type",
      param: "thread",
      code: "own_code",
    },
  });
});

Deno.test("encodeError() writes only type and details in the Messages shape", () => {
  assert.deepEqual(
    CODECS.messages.encodeError(FULL, "req_1"),
    {
      type: "error",
      error: {
        type: "own_type",
        message: "Cannot do it",
        details: { error_code: "thread_unsupported_request" },
      },
      request_id: "req_1",
    },
  );
});

Deno.test("encodeError() writes an exhausted limit's reset time for Responses callers, and a final code for Chat callers", () => {
  const error = new GatewayError("rate_limited", "Cannot do it", {
    resetsAtMs: 1_800_000_000_001,
  });
  const plain = {
    message: "Cannot do it",
    type: "rate_limit_error",
    param: null,
    code: null,
  };
  assert.deepEqual(CODECS.responses.encodeError(error, "req_1"), {
    error: { ...plain, type: "usage_limit_reached", resets_at: 1_800_000_001 },
  });
  assert.deepEqual(CODECS.chat.encodeError(error, "req_1"), {
    error: { ...plain, code: "insufficient_quota" },
  });
});
