import assert from "node:assert/strict";
import type { SseFrame } from "../../src/base/frame.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { runStage } from "../../src/base/stage.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import { unfoldAnswer } from "../../src/codecs/canonical/answer/fold.ts";
import { settleCalls } from "../../src/codecs/canonical/tools/settle_calls.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import {
  answerContext,
  counterIds,
  decodeBytes,
} from "../contract/codec_contract.ts";
import {
  type AnswerMeaning,
  type Behaviour,
  BEHAVIOURS,
} from "../support/dialects/behaviours.ts";
import { PROTOCOLS } from "../support/wire/ask.ts";
import { PAIRS, STREAMED } from "../support/dialects/pairs.ts";
import { factsBySdk, squeeze } from "../support/sdk/sdk_answers.ts";
import { STOP_WORDS } from "../support/dialects/stop_words.ts";
import { FEATURES } from "../support/dialects/features.ts";
import {
  ANSWER_ROWS,
  LEFT_OUT,
  outcome,
  translationRows,
} from "../reference/translation_rows.ts";

// Known answers of providers, translated to every protocol and read by its official SDK.

for (const [does, behaviour] of Object.entries(BEHAVIOURS)) {
  const { speaks = "chat" } = behaviour;
  Deno.test(`every caller gets the correct outcome when ${does}`, async (t) => {
    for (const to of PROTOCOLS.filter((to) => to !== speaks)) {
      await t.step(`in ${to}`, () => judge(behaviour, to));
    }
  });
}

async function judge(behaviour: Behaviour, to: Protocol): Promise<void> {
  const { means } = behaviour;
  const events = eventsOf(behaviour);
  const last = events.at(-1);
  if ("failure" in means) {
    assert.equal(last?.type === "failure" && last.failure.kind, means.failure);
    assert.equal(await readsFailure(to, framesOf(events, to)), true);
    return;
  }
  const facts = await factsBySdk(to, framesOf(events, to));
  const tokens = means.tokens === undefined ? undefined : facts.tokens;
  assert.deepEqual({ ...facts, tokens }, factsOf(means, to));
}

/** Returns the events that the gateway reads from the upstream's answer. */
function eventsOf({ speaks = "chat", sends }: Behaviour): AnswerEvent[] {
  const codec = CODECS[speaks];
  if (typeof sends === "string") {
    const bytes = new TextEncoder().encode(sends);
    return runStage(settleCalls(), decodeBytes(codec, bytes));
  }
  const events: AnswerEvent[] = [];
  try {
    unfoldAnswer(codec.decodeAnswer(sends, counterIds()), (event) => {
      events.push(event);
    });
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    events.push({ type: "failure", failure: error.failure });
  }
  return runStage(settleCalls(true), events);
}

function framesOf(events: readonly AnswerEvent[], to: Protocol): SseFrame[] {
  const codec = CODECS[to];
  const context = answerContext(codec.decodeRequest(STREAMED[to]));
  return runStage(codec.createStreamEncoder(context), events);
}

/** The SDKs throw an error in a stream. Only the SDK of Responses returns an answer with the status `failed`. */
async function readsFailure(
  to: Protocol,
  frames: readonly SseFrame[],
): Promise<boolean> {
  try {
    return (await factsBySdk(to, frames)).stop === "failed";
  } catch {
    return true;
  }
}

function factsOf(means: AnswerMeaning, to: Protocol) {
  const { text = "", calls = [], stop, tokens } = means;
  return {
    text: squeeze(text),
    refusal: to === "messages" && stop === "filtered",
    calls,
    stop: STOP_WORDS[to][stop],
    tokens,
  };
}

// Every feature of a request, in every pair of protocols: the table of docs/reference/translation.md.

Deno.test("every caller gets the reasoning, calls and counts of an answer", () => {
  for (const row of translationRows().slice(-ANSWER_ROWS.length)) {
    assert.deepEqual(row.slice(1), PAIRS.map(() => "kept"), row[0]);
  }
});

Deno.test("every dropped feature that changes the answer is reported", () => {
  for (const feature of FEATURES) {
    for (const pair of PAIRS) {
      const { from, to } = pair;
      assert.notEqual(
        outcome(feature, pair),
        LEFT_OUT,
        `${feature.name}, ${from} to ${to}`,
      );
    }
  }
});
