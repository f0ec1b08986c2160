import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type {
  Block,
  OpaqueBlock,
  ReasoningBlock,
  ToolCallBlock,
} from "../../canonical/content/block.ts";
import { settleHistory } from "../../canonical/request/history.ts";
import { openForeignBlocks } from "../../canonical/answer/readable.ts";
import type { Turn } from "../../canonical/request/request.ts";
import { maySend } from "../../canonical/content/sealed.ts";
import { fitId } from "../../canonical/tools/tool_call_id.ts";
import { callItem, ID_RULE, resultItem } from "../tools/call_item.ts";
import type { Scope } from "../dialect.ts";
import { isNoted, notedObject } from "../fields.ts";
import {
  encodeInputParts,
  encodeOutputPart,
  loseBlock,
} from "./part_encode.ts";
import { isEncryptedContent, reasoningItem } from "./reasoning_item.ts";

/** Writes turns as input items. */
export function encodeTurns(
  turns: readonly Turn[],
  scope: Scope,
): JsonObject[] {
  return openForeignBlocks(settleHistory(turns), "responses").flatMap((turn) =>
    encodeTurn(turn, scope)
  );
}

function encodeTurn(turn: Turn, scope: Scope): JsonObject[] {
  if (turn.name !== undefined) {
    scope.context.reportDropped({
      field: "messageName",
      weight: "report",
      reason: "this model's provider knows no names of participants",
    });
  }
  switch (turn.role) {
    case "assistant":
      return encodeAssistant(turn, scope);
    case "tool":
      return encodeResults(turn, scope);
    default:
      return encodeMessage(turn, scope);
  }
}

/** One message, cut where an item stands that no message can hold. */
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
  const message = notedObject(turn, "message");
  const role = turn.role === "system" && !dialect.systemRole
    ? "developer"
    : turn.role;
  return {
    type: "message",
    ...message,
    role,
  };
}

/** An item of this protocol that was kept whole. */
function isOwnItem(
  block: Block,
): block is OpaqueBlock & { readonly value: JsonObject } {
  return block.kind === "opaque" && block.protocol === "responses" &&
    isJsonObject(block.value) && !isNoted(block, "isPart");
}

/**
 * Items in the order of the blocks; text that follows text belongs to the same message. What is shown in words, though
 * it is no text of the model, is a message of its own: some servers join the parts of one as they are.
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
    const message = notedObject(block, "message");
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
  return items;
}

function assistantMessage(
  content: JsonObject[],
  message: JsonObject,
): JsonObject {
  return { type: "message", ...message, role: "assistant", content };
}

/** A block that is an item of its own; `undefined` for one that is part of a message, and for lost reasoning. */
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
 * Reasoning goes back to the upstream that sealed it, or that knows it by its id. Thoughts of others are left
 * out: as text they would be taken for something that was said.
 */
function encodeReasoning(
  block: ReasoningBlock,
  { context }: Scope,
): JsonObject | undefined {
  const { sealed } = block;
  const { connectionId } = context.target;
  if (sealed === undefined) {
    return notedObject(block, "item") === undefined
      ? undefined
      : reasoningItem(block);
  }
  if (
    isEncryptedContent(sealed) &&
    maySend(sealed, { protocol: "responses", connectionId })
  ) return reasoningItem(block);
  context.reportDropped({
    field: "sealedReasoning",
    weight: "report",
    reason: "only the provider that issued it can read it",
  });
}

function encodeCall(call: ToolCallBlock): JsonObject {
  const callId = fitId(call.id, ID_RULE);
  const typed = notedObject(call, "typed");
  return typed !== undefined
    ? { ...typed, ...(typed.call_id === undefined ? {} : { call_id: callId }) }
    : callItem(call, { callId });
}

function encodeResults(turn: Turn, scope: Scope): JsonObject[] {
  return turn.blocks.map((block) =>
    block.kind === "tool_result"
      ? resultItem(block, scope)
      : loseBlock(block, scope)
  ).filter((item) => item !== undefined);
}
