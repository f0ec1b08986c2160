import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
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
import { hello, PROTOCOLS } from "../support/wire/ask.ts";
import {
  type Pair,
  PAIRS,
  sampleAnswer,
  STREAMED,
} from "../support/dialects/pairs.ts";
import { factsBySdk, squeeze } from "../support/sdk/sdk_answers.ts";
import { STOP_WORDS } from "../support/dialects/stop_words.ts";
import { GatewayError } from "../../src/base/error.ts";
import { type JsonObject, parseJson } from "../../src/base/json.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import { type Feature, FEATURES } from "../support/dialects/features.ts";
import { translateRequest } from "../support/translate_request.ts";

// Known answers of providers, translated to every protocol and read by its official SDK.

for (const [does, behaviour] of Object.entries(BEHAVIOURS)) {
  const { speaks = "chat" } = behaviour;
  Deno.test(`${does}, and every caller reads its meaning`, async (t) => {
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

/** Returns the events of the upstream's answer, as the program reads it. */
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

/**
 * The SDKs throw an error in a stream. Only in Responses it is an answer with the status `failed`.
 */
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

// Every feature of a request, in every pair of protocols. The table of docs/translation.md must
// agree.

const NAMES: Readonly<Record<Protocol, string>> = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
};

/** A provider of each protocol in the table. */
const TARGETS: Readonly<
  Record<Protocol, { readonly service: string; readonly model: string }>
> = {
  chat: { service: "custom", model: "some-model" },
  messages: { service: "anthropic", model: "claude-sonnet-4-6" },
  responses: { service: "openai", model: "gpt-5.2" },
};

Deno.test("the documentation's table of translations matches the codecs", async () => {
  const page = await Deno.readTextFile(
    new URL("../../docs/translation.md", import.meta.url),
  );
  const [, table = ""] = page.match(TABLE_REGEXP) ?? [];
  assert.deepEqual(cells(table), rows());
});

Deno.test("no caller loses reasoning, calls or counts of an answer", () => {
  for (const row of rows().slice(-ANSWER_ROWS.length)) {
    assert.deepEqual(row.slice(1), PAIRS.map(() => "kept"), row[0]);
  }
});

Deno.test("no feature of a request that changes an answer is lost in silence", () => {
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

const TABLE_REGEXP = /^(\| feature [^]*?Chat → Messages[^]*?)\n\n/m;

/** Absent, and not named in `x-gateway-dropped`. */
const LEFT_OUT = "left out";

/** Returns the cells of a Markdown table, without the rule below its headings. */
function cells(table: string): string[][] {
  return table.split("\n").filter((line) => !/^\| -/.test(line)).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

function rows(): string[][] {
  const heading = PAIRS.map(({ from, to }) => `${NAMES[from]} → ${NAMES[to]}`);
  return [
    ["feature", ...heading],
    ...FEATURES.map((feature) => [
      feature.name,
      ...PAIRS.map((pair) => outcome(feature, pair)),
    ]),
    ...ANSWER_ROWS.map(({ name, sample, of }) => [
      name,
      ...PAIRS.map((pair) => {
        const answer = sampleAnswer(sample);
        const isKept = isDeepStrictEqual(
          of(throughPair(answer, pair)),
          of(answer),
        );
        return isKept ? "kept" : LEFT_OUT;
      }),
    ]),
  ];
}

/** The features of answers. */
const ANSWER_ROWS: readonly {
  readonly name: string;
  readonly sample: string;
  /** Returns the part of an answer that must be equal after both protocols. */
  readonly of: (answer: Answer) => unknown;
}[] = [
  {
    name: "answer's reasoning",
    sample: "reasoning and a call",
    of: ({ blocks }) =>
      blocks.flatMap((block) =>
        block.kind === "reasoning" ? block.parts.map(({ text }) => text) : []
      ),
  },
  {
    name: "answer's parallel calls",
    sample: "parallel calls",
    of: ({ blocks, stop }) => [
      stop.reason,
      ...blocks.map((block) =>
        block.kind === "function_call"
          ? [block.id, block.name, parseJson(block.arguments)]
          : block.kind
      ),
    ],
  },
  {
    name: "answer's tokens, cached ones too",
    sample: "one text",
    of: ({ usage }) => [
      usage?.inputTokens,
      usage?.cachedInputTokens,
      usage?.outputTokens,
    ],
  },
];

/** Returns the answer as the caller reads it, encoded and decoded in both protocols. */
function throughPair(answer: Answer, { from, to }: Pair): Answer {
  return [to, from].reduce((received, protocol) => {
    const codec = CODECS[protocol];
    const request = codec.decodeRequest(JSON.parse(hello(protocol)));
    const body = codec.encodeAnswer(received, answerContext(request));
    return codec.decodeAnswer(body, counterIds());
  }, answer);
}

function outcome({ asked, found }: Feature, { from, to }: Pair): string {
  const fields = asked[from];
  if (fields === undefined) return "–";
  try {
    const { body, dropped } = translate(JSON.parse(hello(from, fields)), {
      from,
      to,
    });
    if (dropped.size > 0) {
      return `dropped: ${[...dropped].map((name) => `\`${name}\``).join(", ")}`;
    }
    return found(CODECS[to].decodeRequest(body)) ?? LEFT_OUT;
  } catch (error) {
    if (error instanceof GatewayError) return "400";
    throw error;
  }
}

function translate(
  body: JsonObject,
  { from, to }: { readonly from: Protocol; readonly to: Protocol },
) {
  return translateRequest(body, {
    from: CODECS[from],
    to: CODECS[to],
    target: {
      ...TARGETS[to],
      connectionId: "connection-1",
      maxOutputTokens: undefined,
    },
  });
}
