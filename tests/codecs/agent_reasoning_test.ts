import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import { foldAnswer } from "../../src/codecs/canonical/answer/fold.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { formatFrame } from "../../src/base/streams/sse.ts";
import {
  answerContext,
  counterIds,
  decodeBytes,
  encodeStream,
} from "../contract/codec_contract.ts";
import { STREAMED } from "../support/dialects/pairs.ts";
import { testNeeding } from "../support/ignored.ts";
import { loadRecordings } from "../support/recorded/recordings.ts";
import { messageOfSdk, responseOfSdk } from "../support/sdk/sdk_answers.ts";
import { targetOf } from "../support/dialects/targets.ts";
import { translateRequest } from "../support/translate_request.ts";

// Callers of Messages and Responses send an answer of the other protocol back as they got it, in JSON or assembled by
// their SDK. Its reasoning returns to its issuer unchanged and in its place, and to no other provider.

type Issuer = "messages" | "responses";

const CALLERS = { messages: "responses", responses: "messages" } as const;

const MODELS: Readonly<Record<Issuer, string>> = {
  messages: "claude-sonnet-4-5",
  responses: "gpt-5.2",
};

function callerRequest(issuer: Issuer) {
  return CODECS[CALLERS[issuer]].decodeRequest(STREAMED[CALLERS[issuer]]);
}

/** Returns an answer's content or output as the caller gets it in JSON. */
function wholeOf(answer: Answer, issuer: Issuer): JsonObject[] {
  const codec = CODECS[CALLERS[issuer]];
  const body = codec.encodeAnswer(answer, answerContext(callerRequest(issuer)));
  return listOf(issuer === "messages" ? body.output : body.content);
}

/** Returns the same content, assembled by the official SDK from the stream. */
async function streamedOf(
  answer: Answer,
  issuer: Issuer,
): Promise<JsonObject[]> {
  const codec = CODECS[CALLERS[issuer]];
  const frames = encodeStream(codec, answer, callerRequest(issuer));
  const text = frames.map(formatFrame).join("");
  const list = issuer === "messages"
    ? (await responseOfSdk(text)).output
    : (await messageOfSdk(text)).content;
  return listOf(JSON.parse(JSON.stringify(list)));
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the parts of an answer in the next request to its provider: reasoning, calls and texts. */
function returned(
  echoed: readonly JsonObject[],
  issuer: Issuer,
  { connectionId = "connection-1", tools = true } = {},
): { readonly parts: readonly JsonObject[]; readonly dropped: string[] } {
  const target = { ...targetOf("custom", MODELS[issuer]), connectionId };
  const user = { role: "user", content: "Hi" };
  const results = tools ? echoed.flatMap((one) => resultOf(one)) : [];
  const body = issuer === "messages"
    ? { model: "m", input: [user, ...echoed, ...results, user] }
    : {
      model: "m",
      max_tokens: 9,
      messages: [
        user,
        { role: "assistant", content: [...echoed] },
        { role: "user", content: [...results, { type: "text", text: "Go" }] },
      ],
    };
  const translated = translateRequest(body, {
    from: CODECS[CALLERS[issuer]],
    to: CODECS[issuer],
    target,
  });
  const parts = issuer === "responses"
    ? listOf(translated.body.input).filter(({ role, type }) =>
      role !== "user" && type !== "function_call_output"
    )
    : listOf(translated.body.messages).filter(({ role }) =>
      role === "assistant"
    ).flatMap(({ content }) => listOf(content));
  return { parts, dropped: [...translated.dropped] };
}

function resultOf({ type, id, call_id }: JsonObject): JsonObject[] {
  switch (type) {
    case "tool_use":
      return [{ type: "tool_result", tool_use_id: id ?? "", content: "4" }];
    case "function_call":
      return [{
        type: "function_call_output",
        call_id: call_id ?? "",
        output: "4",
      }];
    default:
      return [];
  }
}

/** Returns what the provider must get back: the blocks in order, with sealed reasoning unchanged. */
function issued({ blocks }: Answer, issuer: Issuer): JsonObject[] {
  return blocks.flatMap((block): JsonObject[] => {
    switch (block.kind) {
      case "reasoning": {
        const { parts, sealed } = block;
        if (sealed === undefined) return [];
        if (sealed.form === "redacted") {
          return [{ type: "redacted_thinking", data: sealed.value }];
        }
        const texts = parts.map(({ text }) => text);
        return issuer === "messages"
          ? [{
            type: "thinking",
            thinking: texts.join("\n\n"),
            signature: sealed.value,
          }]
          : [{
            type: "reasoning",
            ...(sealed.id === undefined ? {} : { id: sealed.id }),
            // Messages joins the paragraphs of a summary.
            summary: texts.length === 0
              ? []
              : [{ type: "summary_text", text: texts.join("\n\n") }],
            encrypted_content: sealed.value,
          }];
      }
      case "function_call":
        return [{ call: block.name }];
      default:
        return [];
    }
  });
}

/** Reduces parts to what {@linkcode issued} has. */
function comparable(parts: readonly JsonObject[]): JsonObject[] {
  return parts.flatMap((part) => {
    const { type, name } = part;
    if (type === "tool_use" || type === "function_call") {
      return [{ call: name ?? "" }];
    }
    return typeof type === "string" && /thinking|reasoning/.test(type)
      ? [part]
      : [];
  });
}

async function judge(answer: Answer, issuer: Issuer): Promise<void> {
  const expected = issued(answer, issuer);
  for (
    const echoed of [wholeOf(answer, issuer), await streamedOf(answer, issuer)]
  ) {
    const back = returned(echoed, issuer);
    assert.deepEqual(comparable(back.parts), expected);
    assert.deepEqual(back.dropped, []);
    const elsewhere = returned(echoed, issuer, { connectionId: "other" });
    assert.deepEqual(
      comparable(elsewhere.parts),
      expected.filter(({ call }) => call !== undefined),
    );
    assert.ok(elsewhere.dropped.length > 0);
  }
}

for (const issuer of ["messages", "responses"] as const) {
  const answers = loadRecordings(issuer).flatMap(({ name, answer, stream }) => {
    try {
      const read = stream === undefined
        ? CODECS[issuer].decodeAnswer(answer ?? null, counterIds())
        : foldAnswer(decodeBytes(CODECS[issuer], stream));
      const isSealed = read.blocks.some((block) =>
        block.kind === "reasoning" && block.sealed !== undefined
      );
      return isSealed ? [{ name, answer: read }] : [];
    } catch (error) {
      if (error instanceof UpstreamFailure) return [];
      throw error;
    }
  });
  testNeeding(
    `recorded reasoning of ${issuer} comes back from a ${
      CALLERS[issuer]
    } caller unchanged, and only to the issuer`,
    answers.length === 0 && "there are no recordings here",
    async (t) => {
      for (const { name, answer } of answers) {
        await t.step(name, () => judge(answer, issuer));
      }
    },
  );
}

Deno.test("Claude gets neither the text nor the signature of thinking that a Responses caller changed", () => {
  const answer: Answer = {
    id: "a",
    model: "m",
    blocks: [{
      kind: "reasoning",
      parts: [{ form: "raw", text: "A thought" }],
      sealed: { protocol: "messages", form: "signature", value: "s" },
    }, { kind: "text", text: "so" }],
    stop: { reason: "end" },
  };
  const [reasoning = {}, ...others] = wholeOf(answer, "messages");
  const changes = [[], [{ type: "summary_text", text: "Another" }]];
  for (const summary of changes) {
    const echoed = [{ ...reasoning, summary }, ...others];
    const { parts, dropped } = returned(echoed, "messages");
    assert.deepEqual(parts, [{ type: "text", text: "so" }]);
    assert.deepEqual(dropped, ["reasoning.encrypted_content"]);
  }
});

const ENCRYPTED = {
  protocol: "responses",
  form: "encrypted_content",
  value: "e",
} as const;

Deno.test("raw reasoning of a Responses model returns unchanged", async () => {
  const answer: Answer = {
    id: "a",
    model: "m",
    blocks: [{
      kind: "reasoning",
      parts: [{ form: "raw", text: "A thought" }],
      sealed: ENCRYPTED,
    }, { kind: "text", text: "so" }],
    stop: { reason: "end" },
  };
  for (
    const echoed of [
      wholeOf(answer, "responses"),
      await streamedOf(answer, "responses"),
    ]
  ) {
    assert.deepEqual(returned(echoed, "responses").parts[0], {
      type: "reasoning",
      summary: [],
      content: [{ type: "reasoning_text", text: "A thought" }],
      encrypted_content: "e",
    });
  }
});

Deno.test("reasoning without a following item is not returned to a Responses model", () => {
  // Claude Code keeps the reasoning of an answer that broke off, and resumes.
  const answer: Answer = {
    id: "a",
    model: "m",
    blocks: [{ kind: "reasoning", parts: [], sealed: ENCRYPTED }],
    stop: { reason: "end" },
  };
  const { parts, dropped } = returned(
    wholeOf(answer, "responses"),
    "responses",
  );
  assert.deepEqual(parts, []);
  assert.deepEqual(dropped, ["signature"]);
});
