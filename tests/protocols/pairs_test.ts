import assert from "node:assert/strict";
import type { JsonObject } from "../../src/core/json.ts";
import type { Protocol } from "../../src/core/protocol.ts";
import type { Answer } from "../../src/protocols/canonical/answer/answer.ts";
import {
  type AnswerBlock,
  isToolCall,
} from "../../src/protocols/canonical/content/block.ts";
import { UpstreamFailure } from "../../src/protocols/canonical/failure/failure.ts";
import { foldAnswer } from "../../src/protocols/canonical/answer/fold.ts";
import { CODECS } from "../../src/protocols/mod.ts";
import { ANSWERS } from "../contract/answers.ts";
import {
  counterIds,
  decodeBytes,
  encodeStream,
} from "../contract/codec_contract.ts";
import {
  loadRecordings,
  type Recording,
} from "../support/recorded/recordings.ts";
import { STOP_WORDS } from "../support/dialects/stop_words.ts";
import {
  type AnswerFacts,
  factsBySdk,
  inputOf,
  squeeze,
} from "../support/sdk/sdk_answers.ts";
import { needing } from "../support/ignored.ts";

// Every available answer, translated to each protocol and read by that protocol's official SDK. The
// text, calls, stop reason and usage must be equal.

const PROTOCOLS: readonly Protocol[] = ["chat", "messages", "responses"];

/** A request in each protocol, for the encoders. */
const REQUESTS: Readonly<Record<Protocol, JsonObject>> = {
  chat: {
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    stream_options: { include_usage: true },
  },
  messages: {
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  },
  responses: { model: "m", input: "Hi" },
};

for (const to of PROTOCOLS) {
  Deno.test(`the sample answers reach a ${to} caller`, async (t) => {
    for (const { name, answer } of ANSWERS) {
      await t.step(name, () => judge(answer, to));
    }
  });
  for (const from of PROTOCOLS.filter((protocol) => protocol !== to)) {
    const answers = recordedAnswers(from);
    Deno.test({
      ...needing(
        `recorded ${from} answers reach a ${to} caller`,
        answers.length === 0 && "there are no recordings here",
      ),
      async fn(t) {
        for (const { name, answer } of answers) {
          await t.step(name, () => judge(answer, to));
        }
      },
    });
  }
}

/** Translates the answer and compares it with the SDK's reading. */
async function judge(answer: Answer, to: Protocol): Promise<void> {
  const codec = CODECS[to];
  const frames = encodeStream(codec, answer, codec.decodeRequest(REQUESTS[to]));
  const facts = await factsBySdk(to, frames);
  const expected = factsOf(answer, to);
  // Protocols that demand usage estimate it when there is none.
  const tokens = expected.tokens === undefined ? undefined : facts.tokens;
  assert.deepEqual({ ...facts, tokens }, expected);
}

/** Returns the expected facts for a caller of the protocol. */
function factsOf(answer: Answer, to: Protocol): AnswerFacts {
  const { blocks, stop, usage } = answer;
  const words = blocks.map((block) =>
    block.kind === "refusal" ? block.text : ""
  ).join("");
  const isRefusal = to === "messages"
    ? stop.reason === "filtered" || words !== "" && stop.reason === "end"
    : words !== "" || to === "chat" && stop.explanation !== undefined;
  return {
    text: squeeze(blocks.map((block) => shownText(block, to)).join("")),
    refusal: isRefusal,
    calls: blocks.filter(isToolCall).map((call) => ({
      name: call.name,
      input: call.kind === "custom_call"
        ? { input: call.input }
        : shownInput(call.arguments, to),
    })),
    stop: to === "messages" && isRefusal
      ? "refusal"
      : STOP_WORDS[to][stop.reason],
    tokens: usage === undefined
      ? undefined
      : { input: usage.inputTokens, output: usage.outputTokens },
  };
}

/** Messages has no blocks for refusals and for other protocols' server tools: they become text. */
function shownText(block: AnswerBlock, to: Protocol): string {
  if (block.kind === "text") return block.text;
  if (to !== "messages") return "";
  if (block.kind === "refusal") return block.text;
  return block.kind === "opaque" ? block.text ?? "" : "";
}

/** The Messages SDK keeps an empty object of arguments that broke off. */
function shownInput(text: string, to: Protocol): unknown {
  const input = inputOf(text);
  return to === "messages" && typeof input === "string" ? {} : input;
}

interface RecordedAnswer {
  readonly name: string;
  readonly answer: Answer;
}

/** Returns the recorded complete answers of a protocol, as JSON or as a stream. */
function recordedAnswers(from: Protocol): RecordedAnswer[] {
  return loadRecordings(from).flatMap((recording) => {
    const answer = answerOf(recording, from);
    return answer === undefined ? [] : [{ name: recording.name, answer }];
  });
}

function answerOf(
  { answer, stream }: Recording,
  from: Protocol,
): Answer | undefined {
  const codec = CODECS[from];
  try {
    if (stream !== undefined) return foldAnswer(decodeBytes(codec, stream));
    return answer === undefined
      ? undefined
      : codec.decodeAnswer(answer, counterIds());
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}
