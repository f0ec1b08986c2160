import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type {
  Block,
  OpaqueBlock,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../canonical/answer/block.ts";
import type { Loss } from "../../canonical/request/loss.ts";
import { maySend } from "../../canonical/answer/sealed.ts";
import { argumentsObject } from "../../canonical/tools/tool_arguments.ts";
import type { Scope } from "../dialect.ts";
import { encodeFile, encodeImage } from "./media_encode.ts";
import { encodeSealedThinking, thinkingText } from "./thinking.ts";

/** Stands in an error result that says nothing, which upstreams refuse. */
const NO_OUTPUT: JsonObject = { type: "text", text: "(no output)" };

/** Writes a block of a user message; `undefined` for one that is left out. */
export function encodeUserBlock(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "image":
      return encodeImage(block, scope);
    case "file":
      return encodeFile(block, scope);
    case "tool_result":
      return encodeResult(block, scope);
    default:
      return encodeTextualBlock(block, scope);
  }
}

/** Writes a block of an assistant message; `undefined` for one that is left out. */
export function encodeAssistantBlock(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "reasoning":
      return encodeReasoning(block, scope);
    case "function_call":
    case "custom_call":
      return encodeCall(block, scope);
    case "image":
    case "file":
    case "audio":
      return loseKind(block.kind, "hint", scope);
    default:
      return encodeTextualBlock(block, scope);
  }
}

/** Writes a block that may stand anywhere, in a system text too; `undefined` for one that is left out. */
export function encodeTextualBlock(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "text":
      return encodeText(block, scope);
    case "refusal":
      return encodeText({ kind: "text", text: block.text }, scope);
    case "opaque":
      return encodeOpaque(block, scope);
    default:
      return loseKind(block.kind, "answer", scope);
  }
}

function loseKind(
  kind: Block["kind"],
  weight: Loss["weight"],
  { context }: Scope,
): undefined {
  context.lose({
    field: "messages",
    weight,
    reason: `it cannot hold \`${kind}\` there`,
  });
}

/** Blank text would be refused. */
function encodeText(block: TextBlock, scope: Scope): JsonObject | undefined {
  const cache = scope.cache.write(block.cache);
  if (block.text.trim() === "") return undefined;
  const citations = (block.citations ?? []).flatMap(({ raw }) =>
    raw?.protocol === "messages" ? [raw.value] : []
  );
  return {
    ...(block.marks?.messages ?? {}),
    type: "text",
    text: block.text,
    ...(citations.length === 0 ? {} : { citations }),
    ...cache,
  };
}

/**
 * Earlier thinking as its issuer gave it. Upstreams that verify signatures refuse any other, so it is left out
 * there; open models get its text.
 */
function encodeReasoning(
  block: ReasoningBlock,
  scope: Scope,
): JsonObject | undefined {
  const { dialect, context } = scope;
  const { sealed } = block;
  const { connectionId } = context.target;
  if (sealed !== undefined) {
    if (maySend(sealed, { protocol: "messages", connectionId })) {
      return encodeSealedThinking(block, sealed);
    }
    context.lose({
      field: "sealedReasoning",
      weight: "hint",
      reason: "only the provider that issued it can read it",
    });
  }
  const text = thinkingText(block.parts);
  if (!dialect.unsignedThinking || text === "") return undefined;
  return { type: "thinking", thinking: text, signature: "" };
}

function encodeCall(call: ToolCallBlock, scope: Scope): JsonObject {
  return {
    ...(call.marks?.messages ?? {}),
    type: "tool_use",
    id: scope.ids.call(call.id),
    name: call.name,
    input: call.kind === "custom_call"
      ? { input: call.input }
      : argumentsObject(call.arguments),
    ...scope.cache.write(call.cache),
  };
}

function encodeResult(result: ToolResultBlock, scope: Scope): JsonObject {
  const content = result.content.map((part) => encodeUserBlock(part, scope))
    .filter((part) => part !== undefined);
  const isSilentError = result.isError && content.length === 0;
  return {
    ...(result.marks?.messages ?? {}),
    type: "tool_result",
    tool_use_id: scope.ids.result(result.callId),
    content: isSilentError ? [NO_OUTPUT] : content,
    ...(result.isError ? { is_error: true } : {}),
    ...scope.cache.write(result.cache),
  };
}

function encodeOpaque(
  block: OpaqueBlock,
  scope: Scope,
): JsonObject | undefined {
  const { protocol, value, text, weight, type } = block;
  if (protocol === "messages" && isJsonObject(value)) return value;
  if (text !== undefined) return encodeText({ kind: "text", text }, scope);
  if (weight !== "silent") {
    scope.context.lose({
      field: "messages",
      weight,
      reason: `this model's provider knows no \`${type}\``,
    });
  }
  return undefined;
}
