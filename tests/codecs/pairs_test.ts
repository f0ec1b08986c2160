import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import {
  type AnswerBlock,
  type Block,
  isToolCall,
  type ToolResultBlock,
} from "../../src/codecs/canonical/content/block.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import { foldAnswer } from "../../src/codecs/canonical/answer/fold.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { ANSWERS } from "../contract/answers.ts";
import {
  counterIds,
  decodeBytes,
  encodeStream,
} from "../contract/codec_contract.ts";
import {
  loadClientRequests,
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
import { testNeeding } from "../support/ignored.ts";
import { GatewayError } from "../../src/base/error.ts";
import { bridgeTools } from "../../src/codecs/canonical/tools/bridge_tools.ts";
import type { Target } from "../../src/codecs/canonical/codec.ts";
import { settleHistory } from "../../src/codecs/canonical/request/history.ts";
import type { CanonicalRequest } from "../../src/codecs/canonical/request/request.ts";
import { argumentsObject } from "../../src/codecs/canonical/tools/tool.ts";
import { translateRequest } from "../support/translate_request.ts";
import { targetOf } from "../support/dialects/targets.ts";

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
  Deno.test(`a ${to} caller gets the content and usage of every sample answer`, async (t) => {
    for (const { name, answer } of ANSWERS) {
      await t.step(name, () => judge(answer, to));
    }
  });
  for (const from of PROTOCOLS.filter((protocol) => protocol !== to)) {
    const answers = recordedAnswers(from);
    testNeeding(
      `recorded ${from} answers reach a ${to} caller`,
      answers.length === 0 && "there are no recordings here",
      async (t) => {
        for (const { name, answer } of answers) {
          await t.step(name, () => judge(answer, to));
        }
      },
    );
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

/** The Messages SDK reads incomplete arguments as an empty object. */
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

// Every available request, translated to each other protocol. The upstream must receive every text, call, result,
// picture and tool of the caller, or `x-gateway-dropped` must name the lost ones.

const TARGETS: Readonly<Record<Protocol, Target>> = {
  chat: targetOf("custom", "some-model"),
  messages: targetOf("anthropic", "claude-sonnet-4-6"),
  responses: targetOf("openai", "gpt-5.1"),
};

/** The end of each protocol's request path. */
const PATHS: Readonly<Record<Protocol, RegExp>> = {
  chat: /\/chat\/completions$/,
  messages: /\/messages$/,
  responses: /\/responses$/,
};

/** The expected refusals, with the reason. */
const REFUSALS: readonly (readonly [message: RegExp, reason: string])[] = [
  [
    /`model` is wrong|`max_tokens` is wrong|`messages` is wrong|`input` is wrong/,
    "the request itself is wrong, or the path names the model",
  ],
  [/keeps no state/, "the conversation would be incomplete"],
  [
    /`(n|logprobs|modalities|mcp_servers)`/,
    "the answer would lack a requested part",
  ],
  [
    /accepts the content of an? (image|file) only|from another provider's store/,
    "another provider stores the file",
  ],
  [
    /hold `(audio|container_upload|compaction)`|not support `compaction`/,
    "the model would not see it",
  ],
  [
    /`response_format` .*: a strict schema must close every object/,
    "OpenAI refuses it in both of its protocols",
  ],
];

for (const from of PROTOCOLS) {
  const requests = requestsOf(from);
  for (const to of PROTOCOLS.filter((protocol) => protocol !== from)) {
    testNeeding(
      `recorded ${from} requests reach a ${to} upstream`,
      requests.length === 0 && "there are no recordings here",
      async (t) => {
        for (const { name, request } of requests) {
          await t.step(name, () => judgeRequestPairs(request, from, to));
        }
      },
    );
  }
}

/** A request and its origin. */
interface NamedRequest {
  readonly name: string;
  readonly request: JsonObject;
}

/** Returns the requests of a protocol from providers' recordings and real clients. */
function requestsOf(protocol: Protocol): NamedRequest[] {
  const recorded = loadRecordings(protocol).flatMap(({ name, request }) =>
    request === undefined ? [] : [{ name, request }]
  );
  return [...recorded, ...loadClientRequests(PATHS[protocol])];
}

function judgeRequestPairs(
  request: JsonObject,
  from: Protocol,
  to: Protocol,
): void {
  try {
    compare(request, from, to);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { message } = error;
    assert.ok(
      REFUSALS.some(([pattern]) => pattern.test(message)),
      `refused without a known reason: ${message}`,
    );
  }
}

function compare(request: JsonObject, from: Protocol, to: Protocol): void {
  const target = TARGETS[to];
  const { body, dropped } = translateRequest(request, {
    from: CODECS[from],
    to: CODECS[to],
    target,
  });
  const asked = bridgeTools(
    CODECS[from].decodeRequest(request),
    CODECS[to].toolSupport(target),
  ).request;
  const received = CODECS[to].decodeRequest(body);
  const words = squeeze(textsIn(body).join(""));
  for (const text of textsOf(asked)) {
    assert.ok(
      words.includes(squeeze(text)),
      `the text ${JSON.stringify(text.slice(0, 80))} is missing`,
    );
  }
  assert.deepEqual(callsOf(received), callsOf(asked));
  assert.equal(
    blocksOf(received, "image").length,
    blocksOf(asked, "image").length,
    "pictures",
  );
  const offered = toolNames(asked);
  // Without a list of allowed tools, the other tools are dropped.
  if (asked.toolChoice?.type === "allowed") {
    for (const tool of toolNames(received)) assert.ok(offered.includes(tool));
  } else if (!dropped.has("tools")) {
    assert.deepEqual(toolNames(received), offered);
  }
  assert.equal(received.stream, asked.stream);
}

/** Returns every string in `value`, at any depth. */
function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** Returns the texts that the model must read. */
function textsOf({ turns }: CanonicalRequest): string[] {
  return allBlocks(turns).flatMap((block) =>
    block.kind === "text" ? [block.text] : []
  );
}

/** Returns the calls of the history with their results, in order. */
function callsOf({ turns }: CanonicalRequest): unknown[] {
  const blocks = allBlocks(settleHistory(turns));
  const results = blocks.filter((block) => block.kind === "tool_result");
  return blocks.filter(isToolCall).map((call, position) => ({
    name: call.name,
    input: call.kind === "function_call"
      ? argumentsObject(call.arguments)
      : call.input,
    result: resultText(results[position]),
  }));
}

/** Returns the text of a result, without a target's note about dropped content. */
function resultText(result: ToolResultBlock | undefined): string {
  const texts = (result?.content ?? []).map((block) =>
    "text" in block ? block.text ?? "" : ""
  );
  return squeeze(texts.join("")).replace(/^Error:/, "")
    .replaceAll(/\[(image|file)attachedbelow\]|^\(empty\)$/g, "");
}

function blocksOf({ turns }: CanonicalRequest, kind: Block["kind"]): Block[] {
  return allBlocks(turns).filter((block) => block.kind === kind);
}

/** Returns all blocks, including those inside results. */
function allBlocks(turns: CanonicalRequest["turns"]): Block[] {
  return turns.flatMap(({ blocks }) => blocks).flatMap((block): Block[] =>
    block.kind === "tool_result" ? [block, ...block.content] : [block]
  );
}

function toolNames({ tools }: CanonicalRequest): string[] {
  // A web search that became the provider's own has a type without a date.
  return tools.map((tool) =>
    tool.kind === "hosted" ? tool.type.replace(/_\d{8}$/, "") : tool.name
  );
}
