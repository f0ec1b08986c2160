import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/base/json.ts";
import type {
  Failure,
  FailureKind,
} from "../../../src/codecs/canonical/failure/failure.ts";
import {
  decodeFailure,
  encodeFailure,
} from "../../../src/codecs/chat/errors.ts";
import { steps } from "../../support/steps.ts";

Deno.test("decodeFailure() reads an error of every shape that providers send", async (t) => {
  const errors: [
    name: string,
    status: number,
    body: JsonValue | undefined,
    expected: Partial<Failure>,
  ][] = [
    [
      "as OpenAI's",
      404,
      {
        error: {
          message: "No model",
          type: "invalid_request_error",
          param: "model",
          code: "model_not_found",
        },
      },
      {
        kind: "not_found",
        status: 404,
        message: "No model",
        param: "model",
        code: "model_not_found",
        type: { protocol: "chat", value: "invalid_request_error" },
      },
    ],
    ["inside an answer, by its code", 200, {
      error: { message: "m", code: 502 },
    }, { kind: "server", status: 502 }],
    ["inside an answer, by its status", 200, {
      error: { message: "m", status_code: 400, code: "tool_use_failed" },
    }, { kind: "invalid_request", status: 400 }],
    ["inside an answer, without either", 200, { error: { message: "m" } }, {
      kind: "server",
      status: 500,
    }],
  ];
  await steps(t, errors, ([, status, body, expected]) => {
    const failure = decodeFailure(status, body);
    for (const [field, value] of Object.entries(expected)) {
      assert.deepEqual(Reflect.get(failure, field), value, field);
    }
  });
});

Deno.test("decodeFailure() prefers the words of an error to its status", () => {
  const kinds: [
    status: number,
    error: { message: string; code?: string; type?: string },
    kind: FailureKind,
  ][] = [
    [
      400,
      { message: "m", code: "context_length_exceeded" },
      "context_too_long",
    ],
    [
      400,
      { message: "This model's maximum context length is 8192 tokens" },
      "context_too_long",
    ],
    [
      400,
      { message: "The total length of all messages is too long." },
      "context_too_long",
    ],
    [400, { message: "m", type: "too_many_prompt_tokens" }, "context_too_long"],
    [413, { message: "m" }, "too_large"],
    [400, { message: "m", code: "content_filter" }, "filtered"],
    [400, { message: "Your content_filter is on" }, "invalid_request"],
    [429, { message: "m", code: "insufficient_quota" }, "quota"],
    [429, { message: "m", code: "rate_limit_exceeded" }, "rate_limited"],
    [402, { message: "Insufficient Balance" }, "quota"],
    [500, { message: "context length" }, "server"],
  ];
  for (const [status, error, kind] of kinds) {
    assert.equal(
      decodeFailure(status, { error }).kind,
      kind,
      JSON.stringify(error),
    );
  }
});

Deno.test("encodeFailure() keeps the upstream's status, message and code", () => {
  assert.deepEqual(
    encodeFailure({
      kind: "invalid_request",
      status: 422,
      message: "m",
      code: "c",
      param: "p",
    }),
    {
      status: 422,
      body: {
        error: {
          message: "m",
          type: "invalid_request_error",
          param: "p",
          code: "c",
        },
      },
    },
  );
});

Deno.test("encodeFailure() has a status and a type for every kind of failure", () => {
  const expected: Record<
    FailureKind,
    [status: number, type: string, code: string | null]
  > = {
    invalid_request: [400, "invalid_request_error", null],
    context_too_long: [400, "invalid_request_error", "context_length_exceeded"],
    too_large: [413, "request_too_large", null],
    filtered: [400, "invalid_request_error", "content_filter"],
    authentication: [502, "upstream_error", "upstream_authentication"],
    unauthenticated: [401, "authentication_error", null],
    permission: [502, "upstream_error", "upstream_authentication"],
    forbidden: [502, "upstream_error", "upstream_authentication"],
    not_found: [404, "not_found_error", null],
    quota: [429, "insufficient_quota", "insufficient_quota"],
    rate_limited: [429, "rate_limit_error", "rate_limit_exceeded"],
    overloaded: [503, "overloaded_error", null],
    timeout: [504, "timeout_error", null],
    server: [502, "upstream_error", null],
    unreachable: [502, "upstream_error", null],
    untrusted: [502, "upstream_error", null],
    silent: [504, "timeout_error", null],
    broken: [502, "upstream_error", null],
    misconfigured: [502, "upstream_error", null],
    oversized: [502, "upstream_error", null],
  };
  for (
    const [kind, [status, type, code]] of Object.entries(expected) as [
      FailureKind,
      [number, string, string | null],
    ][]
  ) {
    const encoded = encodeFailure({ kind, message: "m" });
    const error = JSON.parse(JSON.stringify(encoded.body.error));
    assert.deepEqual([encoded.status, error.type, error.code], [
      status,
      type,
      code,
    ], kind);
  }
});

Deno.test("encodeFailure() replaces a status that only Messages has", () => {
  assert.equal(
    encodeFailure({ kind: "overloaded", status: 529, message: "m" }).status,
    503,
  );
  assert.equal(
    encodeFailure({ kind: "broken", status: 200, message: "m" }).status,
    502,
  );
});
