import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type {
  Block,
  OpaqueBlock,
  ReasoningBlock,
  ToolCallBlock,
} from "../../canonical/content/block.ts";
import { dropSealed } from "../../canonical/request/loss.ts";
import type { Turn } from "../../canonical/request/request.ts";
import { maySend } from "../../canonical/content/sealed.ts";
import { fitId } from "../../canonical/tools/tool_call_id.ts";
import { callItem, ID_RULE, resultItem } from "../tools/call_item.ts";
import type { Scope } from "../dialect.ts";
import { hasFlag, metadataObject } from "../fields.ts";
import { drop, encodeInputParts, encodeOutputPart } from "./part_encode.ts";
import { isEncryptedContent, reasoningItem } from "./reasoning_item.ts";

/** Encodes turns as input items. */
export function encodeTurns(
  turns: readonly Turn[],
  scope: Scope,
): JsonObject[] {
  return turns.flatMap((turn) => encodeTurn(turn, scope));
}

function encodeTurn(turn: Turn, scope: Scope): JsonObject[] {
  switch (turn.role) {
    case "assistant":
      return encodeAssistant(turn, scope);
    case "tool":
      return encodeResults(turn, scope);
    default:
      return encodeMessage(turn, scope);
  }
}

/** Encodes a message. An item that cannot be in a message splits the message. */
function encodeMessage(turn: Turn, scope: Scope): JsonObject[] {
  const items: JsonObject[] = [];
  let run: Block[] = [];
  const close = () => {
    const content = encodeInputParts(run, scope);
    run = [];
    if (content.length > 0) {
      items.push({ ...messageHead(turn, scope), content });
    }
  };
  for (const block of turn.blocks) {
    if (isOwnItem(block)) {
      close();
      items.push(block.value);
    } else run.push(block);
  }
  close();
  return items;
}

function messageHead(turn: Turn, { dialect }: Scope): JsonObject {
  const message = metadataObject(turn, "message");
  const role = turn.role === "system" && !dialect.systemRole
    ? "developer"
    : turn.role;
  return { type: "message", ...message, role };
}

/** Returns true for an item of this protocol that was kept unchanged. */
function isOwnItem(
  block: Block,
): block is OpaqueBlock & { readonly value: JsonObject } {
  return block.kind === "opaque" && block.protocol === "responses" &&
    isJsonObject(block.value) && !hasFlag(block, "isPart");
}

/**
 * Encodes the blocks of the model as items, in their order. Consecutive texts form one message. If a block is shown as
 * text but is not the model's text, its text is a separate message, because some servers join the parts of a message
 * without a space.
 */
function encodeAssistant(turn: Turn, scope: Scope): JsonObject[] {
  const items: JsonObject[] = [];
  let open: JsonObject[] | undefined;
  for (const block of turn.blocks) {
    const item = encodeItem(block, scope);
    if (item !== undefined) {
      open = undefined;
      items.push(item);
      continue;
    }
    if (block.kind === "reasoning") continue;
    const message = metadataObject(block, "message");
    const part = encodeOutputPart(block, scope);
    if (part === undefined) continue;
    const head = "message" in block ? block.message : undefined;
    const isShown = block.kind === "opaque" && block.protocol !== "responses";
    if (
      open === undefined || head !== undefined || message !== undefined ||
      isShown
    ) {
      open = [];
      items.push(assistantMessage(open, { ...head, ...message }));
    }
    open.push(part);
    if (isShown) open = undefined;
  }
  return withoutLastReasoning(items, scope);
}

/**
 * Removes reasoning at the end of a turn, for example from an answer that broke off. OpenAI rejects such reasoning
 * "without its required following item": https://github.com/openai/openai-agents-python/pull/3207
 */
function withoutLastReasoning(
  items: JsonObject[],
  { context }: Scope,
): JsonObject[] {
  const end = items.findLastIndex(({ type }) => type !== "reasoning") + 1;
  if (end < items.length) {
    context.reportDropped("sealedReasoning", "nothing follows it");
  }
  return items.slice(0, end);
}

function assistantMessage(
  content: JsonObject[],
  message: JsonObject,
): JsonObject {
  return { type: "message", ...message, role: "assistant", content };
}

/** Returns a block as an item. Returns `undefined` for a part of a message, and for reasoning that is lost. */
function encodeItem(block: Block, scope: Scope): JsonObject | undefined {
  switch (block.kind) {
    case "reasoning":
      return encodeReasoning(block, scope);
    case "function_call":
    case "custom_call":
      return encodeCall(block);
    default:
      return isOwnItem(block) ? block.value : undefined;
  }
}

/**
 * Encodes reasoning for the provider that sealed it or knows the id of its item. Other reasoning is left out, because a
 * text would look like a part of the answer.
 */
function encodeReasoning(
  block: ReasoningBlock,
  { context }: Scope,
): JsonObject | undefined {
  const { sealed } = block;
  const { connectionId } = context.target;
  if (sealed === undefined) {
    return metadataObject(block, "item") === undefined
      ? undefined
      : reasoningItem(block);
  }
  if (
    isEncryptedContent(sealed) &&
    maySend(sealed, { protocol: "responses", connectionId })
  ) return reasoningItem(block);
  return dropSealed(context);
}

function encodeCall(call: ToolCallBlock): JsonObject {
  const callId = fitId(call.id, ID_RULE);
  const typed = metadataObject(call, "typed");
  return typed !== undefined
    ? { ...typed, ...(typed.call_id === undefined ? {} : { call_id: callId }) }
    : callItem(call, { callId });
}

function encodeResults(turn: Turn, scope: Scope): JsonObject[] {
  return turn.blocks.map((block) =>
    block.kind === "tool_result" ? resultItem(block, scope) : drop(block, scope)
  ).filter((item) => item !== undefined);
}
