import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { Answer } from "../../canonical/answer/answer.ts";
import {
  type AnswerBlock,
  isToolCall,
  type TokenLogprob,
  type ToolCallBlock,
} from "../../canonical/content/block.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import { PARAGRAPH, Paragraphs } from "../../canonical/answer/readable.ts";
import { encodeCitation, type TextRange } from "./citation.ts";
import { detailsForCaller, extraOfSealed } from "./reasoning_details.ts";
import { isLegacyCaller, legacyCall, stopForCaller } from "../tools/decode.ts";
import { encodeUsage } from "./usage.ts";

/** Returns an answer as JSON. */
export function encodeAnswer(
  answer: Answer,
  context: AnswerContext,
): JsonObject {
  return {
    id: answerId(answer.id, context),
    object: "chat.completion",
    created: createdSeconds(answer.createdAtMs, context),
    model: context.model,
    choices: [{
      index: 0,
      message: encodeMessage(answer, context),
      logprobs: encodeLogprobs(answer.blocks, context),
      finish_reason: stopForCaller(answer.stop, context),
    }],
    ...(answer.usage === undefined ? {} : { usage: encodeUsage(answer.usage) }),
    ...encodeServiceTier(answer),
  };
}

/** Returns the provider's id with the prefix that clients expect, or a new id when the provider gave none. */
export function answerId(id: string, context: AnswerContext): string {
  if (id === "") return context.ids.next("chatcmpl");
  return id.startsWith("chatcmpl-") ? id : `chatcmpl-${id}`;
}

/** Returns an answer's time of creation in seconds since 1970, or the current time if the provider sent none. */
export function createdSeconds(
  createdAtMs: number | undefined,
  context: AnswerContext,
): number {
  return Math.floor((createdAtMs ?? context.nowMs) / 1000);
}

/** Returns the service tier, if the provider named it in this protocol. */
function encodeServiceTier({ serviceTier }: Answer): JsonObject {
  return serviceTier?.protocol === "chat"
    ? { service_tier: serviceTier.value }
    : {};
}

function encodeLogprobs(
  blocks: readonly AnswerBlock[],
  context: AnswerContext,
): JsonValue {
  if (!wantsLogprobs(context)) return null;
  const tokens = blocks.flatMap((block) =>
    block.kind === "text" ? block.logprobs ?? [] : []
  );
  return tokens.length === 0 ? null : logprobsOf(tokens);
}

/**
 * Returns true when the caller requested log probabilities. Some providers send log probabilities without a request.
 */
export function wantsLogprobs({ request }: AnswerContext): boolean {
  return request.logprobs !== undefined;
}

/** Returns the `logprobs` of a choice. */
export function logprobsOf(tokens: readonly TokenLogprob[]): JsonObject {
  const content = tokens.map(({ token, logprob, bytes, top_logprobs }) => ({
    token,
    logprob,
    bytes,
    top_logprobs: [...top_logprobs],
  }));
  return { content, refusal: null };
}

function encodeMessage(answer: Answer, context: AnswerContext): JsonObject {
  const { blocks, stop } = answer;
  const { text, places } = layOut(blocks);
  const reasoning = blocks.filter((block) => block.kind === "reasoning");
  const reasoningText = reasoning.flatMap(({ parts }) => parts).map((part) =>
    part.text
  )
    .filter((part) => part !== "").join(PARAGRAPH);
  const details = reasoning.filter(({ sealed }) => sealed !== undefined)
    .flatMap(({ sealed, parts }, position) =>
      sealed === undefined
        ? []
        : detailsForCaller(sealed, { position, parts }, context.connectionId)
    );
  const calls = blocks.filter(isToolCall);
  const annotations = encodeAnnotations(places, context);
  for (const block of blocks) {
    if (block.kind === "opaque") context.drop(block.type);
  }
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || hasRefusal(answer))
      ? null
      : text,
    refusal: encodeRefusal(blocks, stop.explanation),
    ...(reasoningText === "" ? {} : { reasoning_content: reasoningText }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...encodeCalls(calls, context),
    ...(annotations.length === 0 ? {} : { annotations }),
  };
}

/** The content of a message, and the places of its blocks. */
interface Layout {
  readonly text: string;
  readonly places: ReadonlyMap<AnswerBlock, TextRange>;
}

/**
 * Joins the texts of the blocks. Consecutive texts are joined directly. A text after a block of another kind, or in
 * another message, begins a new paragraph.
 */
function layOut(blocks: readonly AnswerBlock[]): Layout {
  const paragraphs = new Paragraphs();
  const places = new Map<AnswerBlock, TextRange>();
  let text = "";
  for (const block of blocks) {
    if (block.kind !== "text" || block.message !== undefined) {
      paragraphs.part();
    }
    if (block.kind !== "text") continue;
    if (block.text !== "") text += paragraphs.join(block.text);
    const end = text.length;
    places.set(block, { start: end - block.text.length, end });
  }
  return { text, places };
}

function hasRefusal({ blocks, stop }: Answer): boolean {
  return stop.explanation !== undefined ||
    blocks.some(({ kind }) => kind === "refusal");
}

function encodeRefusal(
  blocks: readonly AnswerBlock[],
  explanation: string | undefined,
): string | null {
  const words = blocks.map((block) =>
    block.kind === "refusal" ? block.text : ""
  ).join("");
  return words === "" ? explanation ?? null : words;
}

/** Encodes the tool calls of an answer. A caller of the deprecated `functions` receives only the first call. */
function encodeCalls(
  calls: readonly ToolCallBlock[],
  context: AnswerContext,
): JsonObject {
  const [first, ...others] = calls;
  if (first === undefined) return {};
  if (!isLegacyCaller(context) || first.kind !== "function_call") {
    return { tool_calls: calls.map(encodeCall) };
  }
  if (others.length > 0) context.drop("tool_calls");
  return legacyCall(first.name, first.arguments || "{}");
}

function encodeCall(call: ToolCallBlock): JsonObject {
  const { id, name, sealed } = call;
  const extra_content = sealed && extraOfSealed(sealed);
  const extra = extra_content === undefined ? {} : { extra_content };
  if (call.kind === "custom_call") {
    return {
      id,
      type: "custom",
      custom: { name, input: call.input },
      ...extra,
    };
  }
  return {
    id,
    type: "function",
    function: { name, arguments: call.arguments || "{}" },
    ...extra,
  };
}

function encodeAnnotations(
  places: Layout["places"],
  context: AnswerContext,
): JsonValue[] {
  const annotations = [...places].flatMap(([block, place]) =>
    block.kind === "text"
      ? (block.citations ?? []).map((one) => encodeCitation(one, place))
      : []
  );
  if (annotations.includes(undefined)) context.drop("citation");
  return annotations.filter((annotation) => annotation !== undefined);
}
