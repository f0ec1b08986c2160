import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/base/json.ts";
import {
  type Failure,
  oversizedAnswer,
} from "../../../src/codecs/canonical/failure/failure.ts";
import { responsesCodec } from "../../../src/codecs/responses/mod.ts";
import { yamlPairs } from "../../support/yaml_table.ts";

const { decodeFailure, encodeFailure } = responsesCodec;

Deno.test("decodeFailure() reads every shape of error", async (t) => {
  const cases = yamlPairs(`
400: { error: { message: "Too long", type: invalid_request_error, code: context_length_exceeded } }
  → [context_too_long, "Too long"]
400: { error: { message: "Input tokens exceed the configured limit" } } → [context_too_long,
  "Input tokens exceed the configured limit"]
400: { detail: "Unsupported parameter" } → [invalid_request, "Unsupported parameter"]
422: { detail: [{ msg: Wrong }] } → [invalid_request, Wrong]
403: { detail: { code: deactivated } } → [permission, deactivated]
400: { error: "Bad key", code: invalid-argument } → [invalid_request, "Bad key"]
401: { error: { message: "No", code: server_error } } → [authentication, "No"]
429: { error: { type: usage_limit_reached, message: "Used up", resets_in_seconds: 60 } } → [quota,
  "Used up"]
429: { error: { message: Slow } } → [rate_limited, Slow]
500: {} → [server, "The provider answered with status 500"]
200: { error: { code: image_parse_error, message: "No picture" } } → [invalid_request, "No picture"]
200: { error: { code: slow_down, message: Later } } → [overloaded, Later]
200: { error: { code: bio_policy, message: "No" } } → [filtered, "No"]
200: { error: { code: constructor, message: "No" } } → [server, "No"]
`);
  const nothing = "The provider answered with status 503";
  const rows = [...cases, ["503", undefined, ["overloaded", nothing]] as const];
  for (const [name, body, expected] of rows) {
    const status = Number(name);
    await t.step(`${status} ${JSON.stringify(body)}`, () => {
      const failure = decodeFailure(status, body);
      assert.deepEqual([failure.kind, failure.message], expected);
      assert.equal(failure.status, status >= 400 ? status : undefined);
    });
  }
});

Deno.test("decodeFailure() reads the time to wait", () => {
  const delayOf = (error: JsonValue) =>
    decodeFailure(429, { error }).retryAfterMs;
  assert.equal(delayOf({ message: "Please try again in 1.574s. Bye" }), 1574);
  assert.equal(delayOf({ message: "try again in 20ms" }), 20);
  assert.equal(
    delayOf({ message: "x", resets_in_seconds: 13_872 }),
    13_872_000,
  );
  assert.equal(delayOf({ message: "try again later" }), undefined);
  // This time is too late for the reset of a quota.
  assert.equal(delayOf({ message: "x", resets_in_seconds: 1e30 }), undefined);
  assert.equal(delayOf({ message: "x", resets_in_seconds: -1 }), undefined);
  const never = JSON.parse('{"message":"x","resets_in_seconds":1e999}');
  assert.equal(delayOf(never), undefined);
  const long = `try again in ${"9".repeat(30)}s`;
  assert.equal(delayOf({ message: long }), undefined);
});

Deno.test("encodeFailure() writes the status and the error object", async (t) => {
  const cases: readonly (readonly [Failure, number, unknown])[] = [
    [
      { kind: "rate_limited", status: 429, message: "Slow" },
      429,
      {
        message: "Slow",
        type: "rate_limit_error",
        param: null,
        code: "rate_limit_exceeded",
      },
    ],
    [
      { kind: "overloaded", status: 529, message: "Busy" },
      503,
      { message: "Busy", type: "overloaded_error", param: null, code: null },
    ],
    [
      {
        kind: "invalid_request",
        status: 422,
        message: "No",
        param: "x",
        code: "c",
      },
      422,
      { message: "No", type: "invalid_request_error", param: "x", code: "c" },
    ],
    [
      { kind: "broken", message: "Cut" },
      502,
      { message: "Cut", type: "upstream_error", param: null, code: null },
    ],
    [
      oversizedAnswer("Long"),
      502,
      {
        message: "Long. Ask for a shorter answer.",
        type: "upstream_error",
        param: null,
        code: "upstream_oversized",
      },
    ],
    [
      { kind: "permission", status: 403, message: "secret" },
      502,
      {
        message:
          "The model's provider does not accept the gateway's credential. Report it to the administrator.",
        type: "upstream_error",
        param: null,
        code: "upstream_authentication",
      },
    ],
  ];
  for (const [failure, status, error] of cases) {
    await t.step(failure.kind, () => {
      assert.deepEqual(encodeFailure(failure, "req_1"), {
        status,
        body: { error },
      });
    });
  }
});
