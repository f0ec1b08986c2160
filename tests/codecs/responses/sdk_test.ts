import assert from "node:assert/strict";
import type { SseFrame } from "../../../src/base/frame.ts";
import { runStage } from "../../../src/base/stage.ts";
import type { Answer } from "../../../src/codecs/canonical/answer/answer.ts";
import type { AnswerEvent } from "../../../src/codecs/canonical/stream/event.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../../src/codecs/canonical/answer/fold.ts";
import { chatCodec } from "../../../src/codecs/chat/mod.ts";
import { responsesCodec } from "../../../src/codecs/responses/mod.ts";
import { formatFrame } from "../../../src/base/streams/sse.ts";
import { ANSWERS } from "../../contract/answers.ts";
import {
  answerContext,
  counterIds,
  decodeBytes,
  plain,
} from "../../contract/codec_contract.ts";
import { loadRecordings } from "../../support/recorded/recordings.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";

// The official SDK checks the grammar of a stream while it assembles the answer. The assembled answer must equal the
// encoded one.

const context = answerContext(
  responsesCodec.decodeRequest({ model: "m", input: "hi" }),
);

for (const { name, answer } of ANSWERS) {
  judge(`the sample "${name}"`, eventsOf(answer));
}
for (const { name, stream } of loadRecordings("responses")) {
  if (stream === undefined) continue;
  judge(`recorded "${name}"`, decodeBytes(responsesCodec, stream));
}
for (const { name, stream } of loadRecordings("chat")) {
  if (stream === undefined) continue;
  const events = decodeBytes(chatCodec, stream);
  if (events.at(-1)?.type !== "end") continue;
  judge(`recorded Chat answer "${name}"`, events);
}

function judge(name: string, events: readonly AnswerEvent[]): void {
  const answer = foldAnswer(events);
  Deno.test(`openai-node assembles ${name} from the stream`, async () => {
    const stream = clientOf(sseResponse(encode(events))).responses.stream({
      model: "m",
      input: "hi",
    });
    const gathered = await stream.finalResponse();
    assertSame(gathered, answer);
  });
  Deno.test(`openai-node reads ${name} from JSON`, async () => {
    const body = responsesCodec.encodeAnswer(answer, context);
    const client = clientOf(Response.json(body));
    assertSame(
      await client.responses.create({ model: "m", input: "hi" }),
      answer,
    );
  });
}

/** Asserts that the SDK's answer decodes to the encoded one. */
function assertSame(gathered: OpenAI.Responses.Response, answer: Answer): void {
  const body = JSON.parse(JSON.stringify(gathered));
  const decoded = responsesCodec.decodeAnswer(body, counterIds());
  assert.deepEqual(shownOf(decoded), shownOf(answer));
  assert.equal(gathered.output_text, textOf(answer));
}

/**
 * Returns the visible part of an answer: without sealed content, and without content that only
 * another protocol has.
 */
function shownOf(answer: Answer): unknown {
  const { blocks, stop, usage } = answer;
  const shown = blocks.filter((block) =>
    block.kind !== "opaque" || block.protocol === "responses"
  ).map((block) => {
    switch (block.kind) {
      case "text":
        return {
          ...block,
          citations: block.citations?.length,
          message: null,
          providerMetadata: null,
        };
      case "reasoning":
        return { ...block, sealed: null, providerMetadata: null };
      case "function_call":
        return {
          ...block,
          arguments: block.arguments || "{}",
          providerMetadata: null,
        };
      case "opaque":
        return { ...block };
      default:
        return { ...block, providerMetadata: null };
    }
  });
  return plain({
    blocks: shown,
    reason: stop.reason,
    usage: {
      input: usage?.inputTokens ?? context.estimatedInputTokens,
      cached: usage?.cachedInputTokens ?? 0,
      written: usage?.cacheWriteTokens ?? 0,
      // Missing usage is estimated, as for Messages callers.
      output: usage?.outputTokens ?? Math.ceil(writtenIn(answer) / 4),
      reasoning: usage?.reasoningTokens ?? 0,
    },
  });
}

/** Returns the number of characters that the model wrote. */
function writtenIn({ blocks }: Answer): number {
  return blocks.flatMap((block) => {
    switch (block.kind) {
      case "text":
      case "refusal":
        return [block.text];
      case "reasoning":
        return block.parts.map(({ text }) => text);
      case "function_call":
        return [block.arguments];
      case "custom_call":
        return [block.input];
      case "opaque":
        return [];
    }
  }).join("").length;
}

function textOf({ blocks }: Answer): string {
  return blocks.map((block) => block.kind === "text" ? block.text : "").join(
    "",
  );
}

function eventsOf(answer: Answer): AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return events;
}

function encode(events: readonly AnswerEvent[]): SseFrame[] {
  return runStage(responsesCodec.createStreamEncoder(context), events);
}

function sseResponse(frames: readonly SseFrame[]): Response {
  return new Response(frames.map(formatFrame).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

function clientOf(response: Response): OpenAI {
  return new OpenAI({
    apiKey: "key",
    baseURL: "http://gateway.test/v1",
    maxRetries: 0,
    fetch: () => Promise.resolve(response),
  });
}
