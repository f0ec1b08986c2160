import assert from "node:assert/strict";
import type { JsonValue } from "../../../../src/core/json.ts";
import type { FailureKind } from "../../../../src/protocols/canonical/failure/failure.ts";
import { kindOfWords } from "../../../../src/protocols/canonical/failure/failure_kind.ts";
import { CODECS } from "../../../../src/protocols/mod.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { attemptFailureOf } from "../../../../src/relay/attempt_failure.ts";
import { UpstreamFailure } from "../../../../src/protocols/canonical/failure/failure.ts";

/** Errors inside a successful response, and their kinds. */
const INSIDE: readonly (readonly [body: JsonValue, kind: FailureKind])[] = [
  [openAi("invalid_request_error", "unsupported_parameter"), "invalid_request"],
  [openAi("invalid_request_error", null), "invalid_request"],
  [
    openAi("invalid_request_error", "context_length_exceeded"),
    "context_too_long",
  ],
  [openAi("insufficient_quota", "insufficient_quota"), "quota"],
  [openAi("tokens", "rate_limit_exceeded"), "rate_limited"],
  [openAi("server_error", null), "server"],
  [openAi("x", "content_filter"), "filtered"],
  [openAi("overloaded_error", null), "overloaded"],
  [openAi("exceeded_current_quota_error", null), "quota"],
  [openAi("engine_overloaded_error", null), "overloaded"],
  [{ error: { code: "1302", message: "m" } }, "rate_limited"],
  [{ error: { code: "1113", message: "m" } }, "quota"],
  [{ error: { code: "1301", message: "m" } }, "filtered"],
  [{ error: { code: "1210", message: "m" } }, "invalid_request"],
  [{ error: { message: "m", status: "RESOURCE_EXHAUSTED" } }, "rate_limited"],
  [{ error: { message: "m", status: "UNAVAILABLE" } }, "overloaded"],
  [minimax(1008), "quota"],
  [minimax(1002), "rate_limited"],
  [minimax(1039), "rate_limited"],
  [minimax(1027), "filtered"],
  [minimax(2013), "invalid_request"],
  [minimax(1000), "server"],
  [{ error: { message: "m", code: 429 } }, "rate_limited"],
  [
    { error: { message: "m", status_code: 400, code: "tool_use_failed" } },
    "invalid_request",
  ],
  [{ error: { message: "m" } }, "server"],
];

function openAi(type: string, code: string | null): JsonValue {
  return { error: { message: "words", type, param: null, code } };
}

function minimax(status_code: number): JsonValue {
  return { choices: null, base_resp: { status_code, status_msg: "words" } };
}

Deno.test("an error inside an answer has the kind of its code and type, in every protocol", async (t) => {
  for (const [body, kind] of INSIDE) {
    await t.step(JSON.stringify(body), () => {
      for (const protocol of PROTOCOLS) {
        const failure = CODECS[protocol].decodeFailure(200, body);
        assert.equal(failure.kind, kind, protocol);
      }
    });
  }
});

Deno.test("an error inside an answer that blames the request is not retried", () => {
  const kinds = ["invalid_request", "filtered", "context_too_long"];
  for (const [body, kind] of INSIDE) {
    if (!kinds.includes(kind)) continue;
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(200, body);
      const failed = attemptFailureOf(new UpstreamFailure(failure))?.kind;
      assert.equal(failed, kind);
      const { status } = CODECS[protocol].encodeFailure(failure, "req_1");
      assert.equal(status, 400);
    }
  }
});

Deno.test("kindOfWords() ignores words that every object inherits", () => {
  assert.equal(
    kindOfWords({ type: "constructor", code: "toString" }),
    "server",
  );
});
