import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/base/json.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import type { ReasoningBlock } from "../../src/codecs/canonical/content/block.ts";
import type { Target } from "../../src/codecs/canonical/codec.ts";
import { foldAnswer } from "../../src/codecs/canonical/answer/fold.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import {
  answerContext,
  counterIds,
  decodeBytes,
  encodeStream,
} from "../contract/codec_contract.ts";
import { testNeeding } from "../support/ignored.ts";
import { loadRecordings } from "../support/recorded/recordings.ts";
import { translateRequest } from "../support/translate_request.ts";
import { targetOf } from "../support/dialects/targets.ts";

// A Chat caller that sends an assistant message back unchanged returns the provider's reasoning
// unchanged: each block with its signed text. If the caller has changed the text or the list, no
// other text may go with a signature. Anthropic rejects it, on every model
// (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks).

type Issuer = "messages" | "responses";

const MODELS: Readonly<Record<Issuer, string>> = {
  messages: "claude-sonnet-4-5",
  responses: "gpt-5.2",
};

const CALLER = CODECS.chat.decodeRequest({
  model: "m",
  messages: [{ role: "user", content: "Hi" }],
});

/** Returns the assistant message of an answer in JSON. */
function messageOf(answer: Answer): JsonObject {
  const body = CODECS.chat.encodeAnswer(answer, answerContext(CALLER));
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  assert.ok(isJsonObject(choice) && isJsonObject(choice.message));
  return choice.message;
}

/** Returns the messages of two clients: one joins texts and lists, one keeps the last value of an unknown field. */
function gathered(answer: Answer): { joined: JsonObject; last: JsonObject } {
  const message = messageOf(answer);
  const joined = { ...message };
  const last = { ...message };
  delete joined.reasoning_content;
  delete joined.reasoning_details;
  for (const { data } of encodeStream(CODECS.chat, answer, CALLER)) {
    if (data === "[DONE]") continue;
    const delta = JSON.parse(data).choices[0]?.delta ?? {};
    const { reasoning_content: text, reasoning_details: details } = delta;
    if (text !== undefined) {
      joined.reasoning_content = `${joined.reasoning_content ?? ""}${text}`;
      last.reasoning_content = text;
    }
    if (details === undefined) continue;
    const known: JsonValue[] = Array.isArray(joined.reasoning_details)
      ? joined.reasoning_details
      : [];
    joined.reasoning_details = [...known, ...details];
    last.reasoning_details = details;
  }
  return { joined, last };
}

/** Returns the reasoning that the provider receives with a message. */
function returned(message: JsonObject, issuer: Issuer): readonly JsonObject[] {
  const target: Target = targetOf("custom", MODELS[issuer]);
  const { body } = translateRequest({
    model: "m",
    messages: [{ role: "user", content: "Hi" }, message, {
      role: "user",
      content: "And?",
    }],
  }, { from: CODECS.chat, to: CODECS[issuer], target });
  const items = issuer === "responses" ? body.input : body.messages;
  return (Array.isArray(items) ? items : []).filter(isJsonObject)
    .flatMap((item) => issuer === "responses" ? [item] : contentOf(item))
    .filter(({ type }) =>
      type === "reasoning" || type === "thinking" ||
      type === "redacted_thinking"
    );
}

function contentOf({ content }: JsonObject): JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

/** Returns the expected reasoning of an answer in the next request. */
function issued({ blocks }: Answer): readonly JsonObject[] {
  return blocks.filter((block) => block.kind === "reasoning")
    .filter(({ sealed }) => sealed !== undefined).map(itemOf);
}

function itemOf({ parts, sealed }: ReasoningBlock): JsonObject {
  const value = sealed?.value;
  if (sealed?.form === "redacted") {
    return { type: "redacted_thinking", data: value };
  }
  if (sealed?.form === "signature") {
    const thinking = parts.map(({ text }) => text).join("\n\n");
    return { type: "thinking", thinking, signature: value };
  }
  return {
    type: "reasoning",
    ...(sealed?.id === undefined ? {} : { id: sealed.id }),
    summary: parts.map(({ text }) => ({ type: "summary_text", text })),
    encrypted_content: value,
  };
}

function judge(answer: Answer, issuer: Issuer): void {
  const expected = issued(answer);
  const { joined, last } = gathered(answer);
  assert.deepEqual(returned(messageOf(answer), issuer), expected);
  assert.deepEqual(returned(joined, issuer), expected);
  assert.deepEqual(
    returned(last, issuer),
    expected.length === 1 ? expected : [],
  );
  const edited = { ...joined, reasoning_content: "Something else" };
  assert.deepEqual(returned(edited, issuer), expected);
}

function answerOf(blocks: readonly ReasoningBlock[]): Answer {
  const text = { kind: "text", text: "so" } as const;
  return {
    id: "a",
    model: "m",
    blocks: [...blocks, text],
    stop: { reason: "end" },
  };
}

const SIGNED: ReasoningBlock = {
  kind: "reasoning",
  parts: [{ form: "raw", text: "A thought\n\nin two paragraphs" }],
  sealed: { protocol: "messages", form: "signature", value: "s1" },
};
const OMITTED: ReasoningBlock = {
  kind: "reasoning",
  parts: [],
  sealed: { protocol: "messages", form: "signature", value: "s2" },
};
const REDACTED: ReasoningBlock = {
  kind: "reasoning",
  parts: [],
  sealed: { protocol: "messages", form: "redacted", value: "r" },
};
const ENCRYPTED: ReasoningBlock = {
  kind: "reasoning",
  parts: [{ form: "summary", text: "One" }, { form: "summary", text: "Two" }],
  sealed: {
    protocol: "responses",
    form: "encrypted_content",
    value: "e",
    id: "rs_1",
  },
};

Deno.test("a Chat caller's signed thinking returns unchanged, with and without a readable text", () => {
  judge(answerOf([SIGNED]), "messages");
  judge(answerOf([OMITTED]), "messages");
  judge(answerOf([SIGNED, OMITTED]), "messages");
});

Deno.test("a Chat caller's redacted thinking keeps its position among thinking blocks", () => {
  judge(answerOf([REDACTED]), "messages");
  judge(answerOf([SIGNED, REDACTED]), "messages");
  judge(answerOf([REDACTED, SIGNED, REDACTED]), "messages");
});

Deno.test("a Chat caller's encrypted reasoning returns to OpenAI with its text as a summary", () => {
  // Anything in `content` is a 400: https://github.com/router-for-me/CLIProxyAPI/issues/5825
  judge(answerOf([ENCRYPTED]), "responses");
  judge(answerOf([ENCRYPTED, { ...ENCRYPTED, parts: [] }]), "responses");
});

Deno.test("a Chat caller's reasoning is dropped when a block is missing, repeated or moved", () => {
  const message = messageOf(answerOf([SIGNED, REDACTED]));
  const details = message.reasoning_details;
  assert.ok(Array.isArray(details));
  const [first = null, second = null] = details;
  for (const mixed of [[second], [second, first], [first, first]]) {
    const echo = { ...message, reasoning_details: mixed };
    assert.deepEqual(returned(echo, "messages"), []);
  }
  const begun = { ...message, reasoning_details: [first] };
  assert.deepEqual(returned(begun, "messages"), [itemOf(SIGNED)]);
});

for (const issuer of ["messages", "responses"] as const) {
  const answers = loadRecordings(issuer).flatMap(({ name, answer, stream }) => {
    try {
      const read = stream === undefined
        ? CODECS[issuer].decodeAnswer(answer ?? null, counterIds())
        : foldAnswer(decodeBytes(CODECS[issuer], stream));
      return issued(read).length === 0 ? [] : [{ name, answer: read }];
    } catch (error) {
      if (error instanceof UpstreamFailure) return [];
      throw error;
    }
  });
  testNeeding(
    `recorded reasoning of ${issuer} returns unchanged from a Chat caller`,
    answers.length === 0 && "there are no recordings here",
    async (t) => {
      for (const { name, answer } of answers) {
        await t.step(name, () => judge(answer, issuer));
      }
    },
  );
}
