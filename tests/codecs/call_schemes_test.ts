import assert from "node:assert/strict";
import type { Protocol } from "../../src/base/protocol.ts";
import { parseJson } from "../../src/base/json.ts";
import { pipe, runStage } from "../../src/base/stage.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import { foldAnswer } from "../../src/codecs/canonical/answer/fold.ts";
import { isToolCall } from "../../src/codecs/canonical/content/block.ts";
import { settleCalls } from "../../src/codecs/canonical/tools/settle_calls.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { createGrammar } from "../contract/grammar.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import {
  CALL_SCHEMES,
  type CallScheme,
  type ModelCall,
} from "../support/dialects/call_schemes.ts";
import { createRandom, type Random } from "../support/fakes/random.ts";
import { STREAMED } from "../support/dialects/pairs.ts";
import { factsBySdk } from "../support/sdk/sdk_answers.ts";

// Every known scheme of a provider splits the calls of a model into chunks, and the decoder
// restores the complete calls.

/** The number of answers for each scheme. */
const ROUNDS = 60;

const NAMES = ["get_weather", "get_time", "write_file", "list_open_issues"];

/** Values that are difficult to split or to match. */
const VALUES: readonly unknown[] = [
  "Köln, 12 °C 🙂",
  'he said "{}" and left',
  "function f() { return {}; }",
  'back\\slash \\" and\nline',
  '{"a":1}',
  "",
  0,
  -1.5e-7,
  true,
  null,
  [],
  {},
  [{ deep: [1, { er: "]}" }] }],
];

function someCalls(random: Random): ModelCall[] {
  const count = 1 + random.below(3);
  return Array.from({ length: count }, (_, position) => {
    const keys = ["city", "path", "}{", "a b"].slice(0, random.below(5));
    const value = Object.fromEntries(
      keys.map((key) => [key, random.pick(VALUES)]),
    );
    return {
      id: `call_${position}_${random.below(1_000_000)}`,
      name: random.pick(NAMES),
      arguments: random.below(2) === 0
        ? JSON.stringify(value)
        : JSON.stringify(value, undefined, 2),
    };
  });
}

/** Returns the events of an answer that sends the calls by the scheme. */
function eventsOf(
  scheme: CallScheme,
  calls: readonly ModelCall[],
  random: Random,
): AnswerEvent[] {
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    data: JSON.stringify({
      id: "c-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "m",
      choices: [{ index: 0, delta, finish_reason }],
    }),
  });
  const frames = [
    chunk({ role: "assistant", content: "" }),
    ...scheme.cut(calls, random).map((tool_calls) => chunk({ tool_calls })),
    chunk({}, random.pick(["tool_calls", "stop"])),
    { data: "[DONE]" },
  ];
  return runStage(
    pipe(
      pipe(CODECS.chat.createStreamDecoder(counterIds()), settleCalls()),
      createGrammar(),
    ),
    frames,
  );
}

/** Random calls, each with its events in a scheme. */
function* samples(scheme: CallScheme, rounds: number) {
  const random = createRandom(7);
  for (let round = 0; round < rounds; round++) {
    const calls = someCalls(random);
    if (scheme.suits?.(calls) === false) continue;
    yield { calls, events: eventsOf(scheme, calls, random) };
  }
}

for (const scheme of CALL_SCHEMES) {
  Deno.test(`streamed pieces of calls are assembled: ${scheme.name}`, () => {
    for (const { calls, events } of samples(scheme, ROUNDS)) {
      const answer = foldAnswer(events);
      const read = answer.blocks.filter(isToolCall);
      assert.deepEqual(
        read.map((call) => ({
          name: call.name,
          input: call.kind === "function_call" && parseJson(call.arguments),
        })),
        calls.map((call) => ({
          name: call.name,
          input: parseJson(call.arguments),
        })),
      );
      assert.equal(answer.stop.reason, "tool_calls");
      const ids = read.map(({ id }) => id);
      assert.equal(new Set(ids).size, calls.length, "every call has its id");
      if (scheme.losesIds === undefined) {
        assert.deepEqual(ids, calls.map(({ id }) => id));
      }
    }
  });
}

for (const protocol of ["chat", "messages", "responses"] as const) {
  Deno.test(`the official SDK of ${protocol} reads the calls of every scheme`, async (t) => {
    for (const scheme of CALL_SCHEMES) {
      await t.step(scheme.name, () => judge(scheme, protocol));
    }
  });
}

async function judge(scheme: CallScheme, protocol: Protocol): Promise<void> {
  const codec = CODECS[protocol];
  const context = answerContext(codec.decodeRequest(STREAMED[protocol]));
  for (const { calls, events } of samples(scheme, 5)) {
    const frames = runStage(codec.createStreamEncoder(context), events);
    const facts = await factsBySdk(protocol, frames);
    assert.deepEqual(
      facts.calls,
      calls.map((call) => ({
        name: call.name,
        input: parseJson(call.arguments),
      })),
    );
  }
}
