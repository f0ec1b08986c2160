import assert from "node:assert/strict";
import { CODECS } from "../../../src/codecs/codecs.ts";
import {
  attemptFailureOf,
  evidenceOf,
} from "../../../src/gateway/relay/attempt_failure.ts";
import { silentUpstream } from "../../../src/gateway/upstream/failure.ts";

Deno.test("evidenceOf() distinguishes a provider's own timeout error from a silent provider", () => {
  assert.equal(attemptFailureOf(silentUpstream())?.kind, "silent");
  const body = {
    error: {
      message: "Too late",
      type: "timeout_error",
      code: "upstream_timeout",
    },
  };
  for (const protocol of ["chat", "messages", "responses"] as const) {
    const failure = CODECS[protocol].decodeFailure(504, body);
    assert.equal(evidenceOf(failure).kind, "timeout", protocol);
  }
});

Deno.test("encodeFailure() reports silence as a timeout error with status 504", () => {
  const message = "The model's provider fell silent";
  for (const protocol of ["chat", "messages", "responses"] as const) {
    const { status, body } = CODECS[protocol].encodeFailure({
      kind: "silent",
      message,
    }, "req_1");
    assert.equal(status, 504, protocol);
    assert.match(JSON.stringify(body), /"type":"timeout_error"/, protocol);
  }
});
