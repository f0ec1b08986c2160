import assert from "node:assert/strict";
import type { AnswerEvent } from "../../../src/protocols/canonical/stream/event.ts";
import { createTranslatedWatch } from "../../../src/relay/translated/answer_watch.ts";
import { createReasoningMemory } from "../../../src/relay/translated/reasoning_memory.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";

const END: AnswerEvent = { type: "end", stop: { reason: "end" } };

const FAILURE: AnswerEvent = {
  type: "failure",
  failure: { kind: "broken", message: "It broke." },
};

function watchOf(events: readonly AnswerEvent[]) {
  const { record, clock } = openTestRecord();
  const watch = createTranslatedWatch({
    record,
    reasoningMemory: createReasoningMemory({ clock }),
    callerSha256: "alice",
    connectionId: "one",
    translated: { bound: undefined, reasoning: [] },
    reasoningField: "reasoning",
    idFor: undefined,
  });
  for (const event of events) watch.see(event);
  return { isWhole: watch.isWhole(), failure: watch.failure()?.kind };
}

Deno.test("a translated answer is whole after its end, but not when writing that end failed", () => {
  assert.deepEqual(watchOf([END]), { isWhole: true, failure: undefined });
  assert.deepEqual(watchOf([END, FAILURE]), {
    isWhole: false,
    failure: "broken",
  });
});
