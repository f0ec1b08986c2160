import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import { type Answer, estimateUsage } from "../../canonical/answer/answer.ts";
import type {
  AnswerBlock,
  FunctionCallBlock,
  OpaqueBlock,
  ReasoningBlock,
  TextBlock,
} from "../../canonical/content/block.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { BlockHead } from "../../canonical/stream/event.ts";
import { parseArguments } from "../../canonical/tools/tool.ts";
import {
  encodeCitation,
  isRedacted,
  signatureForCaller,
  thinkingText,
} from "../request/blocks.ts";
import { searchBlocks, searchUsage } from "../tools/web_search.ts";
import { createAnswerIds } from "../tools/tool_call_ids.ts";
import { encodeStop, refusalOf } from "./stop.ts";
import { encodeUsage } from "./usage.ts";

/** The state that each step of encoding an answer needs. */
interface AnswerScope {
  readonly context: AnswerContext;
  /** Returns the id of a call, as `createAnswerIds` makes it. */
  readonly idFor: (id: string) => string;
}

/** Returns an answer as JSON. */
export function encodeAnswer(
  answer: Answer,
  context: AnswerContext,
): JsonObject {
  const { blocks, stop } = answer;
  const scope = { context, idFor: createAnswerIds(context.request) };
  const content = blocks.flatMap((block): readonly JsonObject[] =>
    encodeSearchRun(block, context) ?? listOf(encodeBlock(block, scope))
  );
  const searches =
    blocks.filter((block) =>
      block.kind === "opaque" && block.search !== undefined
    ).length;
  const usage = answer.usage ??
    estimateUsage(context.estimatedInputTokens, lengthOf(blocks));
  return {
    ...messageHead(answer.id, context),
    content,
    ...encodeStop(stop, refusalOf(blocks)),
    ...(answer.providerMetadata?.messages ?? {}),
    usage: {
      ...searchUsage(searches),
      ...encodeUsage(usage),
      ...encodeServiceTier(answer.serviceTier),
    },
  };
}

/** Returns the fields of an answer before its content. */
export function messageHead(id: string, context: AnswerContext): JsonObject {
  return {
    id: messageId(id, context),
    type: "message",
    role: "assistant",
    model: context.model,
  };
}

/** Returns the service tier, if the provider named it in this protocol. */
export function encodeServiceTier(tier: Answer["serviceTier"]): JsonObject {
  return tier?.protocol === "messages" ? { service_tier: tier.value } : {};
}

/**
 * Returns the beginning of a `tool_use` block. Its caller is always the model, never a program.
 *
 * @param idFor Returns the id of a call, as `createAnswerIds` makes it.
 */
export function callHead(
  { id, name, providerMetadata }: Extract<
    BlockHead,
    { kind: "function_call" | "custom_call" }
  >,
  idFor: (id: string) => string,
): JsonObject {
  return {
    type: "tool_use",
    id: idFor(id),
    name,
    input: {},
    caller: { type: "direct" },
    ...(providerMetadata?.messages ?? {}),
  };
}

/** Returns the provider's id with the prefix that clients expect, or a new id when the provider gave none. */
function messageId(id: string, context: AnswerContext): string {
  if (id === "") return context.ids.next("msg");
  return id.startsWith("msg_") ? id : `msg_${id}`;
}

function listOf(block: JsonObject | undefined): readonly JsonObject[] {
  return block === undefined ? [] : [block];
}

function encodeBlock(
  block: AnswerBlock,
  scope: AnswerScope,
): JsonObject | undefined {
  const { context, idFor } = scope;
  switch (block.kind) {
    case "text":
      return encodeText(block, context);
    case "refusal":
      return plainText(block.text);
    case "reasoning":
      return encodeReasoning(block, context);
    case "function_call":
      return encodeCall(block, scope);
    case "custom_call":
      return { ...callHead(block, idFor), input: { input: block.input } };
    case "opaque":
      return encodeOpaque(block, context);
  }
}

/** Encodes a text. Callers send the answer back in their next request, where an empty text would be rejected. */
function plainText(text: string): JsonObject | undefined {
  return text === "" ? undefined : { type: "text", text };
}

function encodeText(
  block: TextBlock,
  context: AnswerContext,
): JsonObject | undefined {
  const encoded = (block.citations ?? []).map(encodeCitation);
  if (encoded.includes(undefined)) context.drop("citation");
  const citations = encoded.filter((one) => one !== undefined);
  return citations.length === 0
    ? plainText(block.text)
    : { type: "text", text: block.text, citations };
}

function encodeReasoning(
  block: ReasoningBlock,
  context: AnswerContext,
): JsonObject | undefined {
  const { parts, sealed } = block;
  const thinking = thinkingText(parts);
  if (thinking === "" && sealed === undefined) return undefined;
  if (thinking === "" && isRedacted(sealed)) {
    return { type: "redacted_thinking", data: sealed?.value };
  }
  const isRaw = parts.some(({ form }) => form === "raw");
  const signature = signatureForCaller(sealed, context.connectionId, isRaw);
  return { type: "thinking", thinking, signature };
}

/** Encodes a call. A call whose arguments were cut off is dropped, because its input would differ from the model's. */
function encodeCall(
  call: FunctionCallBlock,
  { context, idFor }: AnswerScope,
): JsonObject | undefined {
  const input = parseArguments(call.arguments);
  if (input !== undefined) return { ...callHead(call, idFor), input };
  context.drop("tool_use");
  return undefined;
}

/** Returns the blocks of another provider's web search, or `undefined` for another block. */
function encodeSearchRun(
  block: AnswerBlock,
  { ids }: AnswerContext,
): readonly JsonObject[] | undefined {
  if (block.kind !== "opaque" || block.search === undefined) return undefined;
  const { call, input, result } = searchBlocks(block.search, ids);
  return [{ ...call, input }, result];
}

function encodeOpaque(
  block: OpaqueBlock,
  context: AnswerContext,
): JsonObject | undefined {
  const { protocol, value, text, type } = block;
  if (protocol === "messages" && isJsonObject(value)) return value;
  if (text === undefined) context.drop(type);
  return plainText(text ?? "");
}

/** Returns the length of a model's answer in characters. */
function lengthOf(blocks: readonly AnswerBlock[]): number {
  return blocks.map((block) => {
    switch (block.kind) {
      case "text":
      case "refusal":
        return block.text.length;
      case "reasoning":
        return block.parts.reduce((sum, { text }) => sum + text.length, 0);
      case "function_call":
        return block.arguments.length;
      case "custom_call":
        return block.input.length;
      case "opaque":
        return 0;
    }
  }).reduce((sum, length) => sum + length, 0);
}
