import type { Deadlines } from "../../../src/base/time/deadlines.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { createHarvest } from "../../../src/gateway/quotas/harvest.ts";
import { createLessonBook } from "../../../src/gateway/relay/translated/lesson_book.ts";
import { createReasoningMemory } from "../../../src/gateway/relay/translated/reasoning_memory.ts";
import { TranslatedAttempt } from "../../../src/gateway/relay/translated/relay_translated.ts";
import { createTranslation } from "../../../src/gateway/relay/translated/translation.ts";
import { createRetryBudget } from "../../../src/gateway/relay/routing/retry_budget.ts";
import { counterIds } from "../../contract/codec_contract.ts";
import type { TestAttempt } from "./attempt.ts";

/** Opens a translated attempt as if its request had been sent. */
export function openTranslatedAttempt(
  { attempt, clock, log }: Pick<TestAttempt, "attempt" | "clock" | "log">,
  { to, deadlines }: {
    readonly to: Protocol;
    readonly deadlines: Deadlines;
  },
): TranslatedAttempt {
  return new TranslatedAttempt(attempt, to, {
    reasoningMemory: createReasoningMemory({ clock }),
    lessonBook: createLessonBook({ clock, log }),
    budget: createRetryBudget(clock),
    client: { send: () => Promise.reject(new Error("It was to send nothing")) },
    harvest: createHarvest({ clock }),
    deadlines,
    ids: counterIds(),
    clock,
    translation: createTranslation(undefined, counterIds()),
    codexQuota: { headersOf: () => [] },
  });
}
