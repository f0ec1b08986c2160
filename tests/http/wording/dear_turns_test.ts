import assert from "node:assert/strict";
import { dearTurnsText } from "../../../src/http/wording/dear_turns.js";

function turns(cause: string, requests: number, part: string | null = null) {
  return { cause, part, requests, cost_usd: null };
}

Deno.test("dearTurnsText() counts the turns by cause, the most frequent first, with what they cost more", () => {
  assert.equal(
    dearTurnsText([
      { ...turns("edited", 3, "tools"), cost_usd: 1.504 },
      { ...turns("idle", 8), cost_usd: 2.6 },
      turns("moved", 1),
    ]),
    "12 turns read little or nothing from the prompt cache: 8 after a pause of over five minutes, " +
      "3 because the tools changed, 1 because another connection served. Extra cost: $4.10.",
  );
});

Deno.test("dearTurnsText() has words for each part, for newer causes too, and none without turns", () => {
  const cases: readonly (readonly [string | null, string])[] = [
    ["system", "the system prompt changed"],
    ["instructions", "the system prompt changed"],
    ["messages", "an earlier message changed"],
    ["input", "an earlier message changed"],
    ["dropped_reasoning", "earlier reasoning was left out"],
    ["thinking", "a setting changed"],
    [null, "a setting changed"],
  ];
  for (const [part, words] of cases) {
    assert.equal(
      dearTurnsText([turns("edited", 1, part)]),
      `1 turn read little or nothing from the prompt cache: 1 because ${words}.`,
    );
  }
  assert.equal(dearTurnsText([]), undefined);
});
