import assert from "node:assert/strict";
import {
  settleStop,
  type StopReason,
} from "../../../../src/protocols/canonical/answer/answer.ts";

function settled(reason: StopReason, hasToolCalls: boolean): StopReason {
  return settleStop({ reason }, { hasCalls: hasToolCalls }).reason;
}

Deno.test("settleStop() prefers calls over a plain end, but not over a limit or a filter", () => {
  assert.equal(settled("end", true), "tool_calls");
  assert.equal(settled("other", true), "tool_calls");
  assert.equal(settled("max_tokens", true), "max_tokens");
  assert.equal(settled("filtered", true), "filtered");
  assert.equal(settled("stop_sequence", true), "stop_sequence");
});

Deno.test("settleStop() changes `tool_calls` without a call to an end", () => {
  assert.equal(settled("tool_calls", false), "end");
  assert.equal(settled("max_tokens", false), "max_tokens");
});

Deno.test("settleStop() keeps the upstream's own word", () => {
  const raw = { protocol: "chat", value: "stop" } as const;
  assert.deepEqual(settleStop({ reason: "end", raw }, { hasCalls: true }), {
    reason: "tool_calls",
    raw,
  });
});
