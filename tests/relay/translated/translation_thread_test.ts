import assert from "node:assert/strict";
import { GatewayError } from "../../../src/core/error.ts";
import { attemptFailureOf } from "../../../src/relay/attempt_failure.ts";
import {
  receivedError,
  sentError,
} from "../../../src/relay/translated/translation_thread.ts";
import { brokenUpstream, oversized } from "../../../src/upstream/failure.ts";

Deno.test("a failure of an upstream is the same after its way from a thread", () => {
  for (const error of [brokenUpstream("it is not JSON"), oversized()]) {
    const received = receivedError(structuredClone(sentError(error)));
    assert.ok(received instanceof GatewayError);
    assert.equal(received.message, error.message);
    assert.equal(received.kind, error.kind);
    assert.equal(received.code, error.code);
    assert.equal(attemptFailureOf(received)?.kind, error.failureKind);
  }
});

Deno.test("an error of the gateway that no upstream has a part in stays one", () => {
  const error = new GatewayError("internal", "m", { code: "upstream_broken" });
  const received = receivedError(structuredClone(sentError(error)));
  assert.equal(attemptFailureOf(received), undefined);
});
