import type { JsonObject, JsonValue } from "../../core/json.ts";
import { createTurn, type Turn } from "./ask.ts";
import { objectsOf, textOf } from "./fields.ts";
import { faultOfHistory } from "./history.ts";
import { invalid } from "../refusal.ts";
import { unseal } from "../seal.ts";

type Speaker = "user" | "assistant" | "system";

/**
 * The system text and the conversation of a Messages request.
 *
 * @throws {Refusal} When a message is missing, wrong or not of this protocol, a thinking block is not the
 * provider's own, or calls and results do not pair up.
 */
export function readMessagesTurns(body: JsonObject): Turn[] {
  const turns = [...readSystem(body.system), ...readTurns(body.messages)];
  checkHistory(turns);
  return turns;
}

function readSystem(system: JsonValue | undefined): Turn[] {
  const texts = typeof system === "string"
    ? [system]
    : objectsOf(system).map((block) => textOf(block.text));
  return texts.length === 0 ? [] : [createTurn("system", { texts })];
}

function readTurns(messages: JsonValue | undefined): Turn[] {
  if (messages === undefined) throw invalid("messages: Field required");
  if (!Array.isArray(messages)) {
    throw invalid("messages: Input should be a valid list");
  }
  if (messages.length === 0) {
    throw invalid("messages: at least one message is required");
  }
  return objectsOf(messages).flatMap(readMessage);
}

function readMessage(message: JsonObject, index: number): Turn[] {
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "system") {
    throw invalid(
      `messages.${index}.role: Input should be 'user', 'assistant' or 'system'`,
    );
  }
  if (message.content === undefined || message.content === null) {
    throw invalid(`messages.${index}.content: Field required`);
  }
  const blocks = typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : objectsOf(message.content);
  if (blocks.length === 0 && role === "user") {
    throw invalid(
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  blocks.forEach((block, place) =>
    checkBlock(block, `messages.${index}.content.${place}`)
  );
  return splitResults(blocks, role);
}

/** Results that do not stand first in their message come too late for the calls before it. */
function splitResults(blocks: readonly JsonObject[], role: Speaker): Turn[] {
  const isResult = (block: JsonObject) => block.type === "tool_result";
  const speechStart = blocks.findIndex((block) => !isResult(block));
  const results = speechStart < 0 ? blocks : blocks.slice(0, speechStart);
  const rest = blocks.slice(results.length);
  return [
    ...results.map(readResult),
    ...readSpeech(rest.filter((block) => !isResult(block)), role),
    ...rest.filter(isResult).map(readResult),
  ];
}

const BLOCK_TYPES_REGEXP =
  /^(text|image|document|search_result|tool_use|tool_result|thinking|redacted_thinking|container_upload|compaction|server_tool_use|\w+_tool_result)$/;

function checkBlock(block: JsonObject, path: string): void {
  const type = textOf(block.type);
  if (!BLOCK_TYPES_REGEXP.test(type)) {
    throw invalid(`${path}: Input tag '${type}' found using 'type' is unknown`);
  }
  if (type === "text" && textOf(block.text) === "") {
    throw invalid(`${path}: text content blocks must be non-empty`);
  }
  if (type === "tool_use" && typeof block.input !== "object") {
    throw invalid(`${path}.tool_use.input: Input should be an object`);
  }
  if (type === "thinking" && !isOwnThinking(block)) {
    throw invalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
  }
}

/** A block whose text was omitted comes back with the signature alone. */
function isOwnThinking(block: JsonObject): boolean {
  const text = unseal(textOf(block.signature));
  const shown = textOf(block.thinking);
  return text !== undefined && (shown === "" || text.startsWith(shown));
}

function readResult(block: JsonObject): Turn {
  const { content } = block;
  const parts = typeof content === "string"
    ? [{ type: "text", text: content }]
    : objectsOf(content);
  return createTurn("tool", {
    callId: textOf(block.tool_use_id),
    ...readParts(parts),
  });
}

function readSpeech(blocks: readonly JsonObject[], role: Speaker): Turn[] {
  if (blocks.length === 0) return [];
  const calls = blocks.filter((block) => block.type === "tool_use")
    .map((block) => ({ id: textOf(block.id), name: textOf(block.name) }));
  return [createTurn(role, { ...readParts(blocks), calls })];
}

function readParts(
  parts: readonly JsonObject[],
): Pick<Turn, "texts" | "attachmentCount"> {
  return {
    texts: parts.filter((part) => part.type === "text")
      .map((part) => textOf(part.text)),
    attachmentCount:
      parts.filter((part) => part.type === "image" || part.type === "document")
        .length,
  };
}

function checkHistory(turns: readonly Turn[]): void {
  const fault = faultOfHistory(turns);
  if (fault === undefined) return;
  throw invalid(
    fault.kind === "unanswered"
      ? `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${fault.callId}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
      : `messages: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${fault.callId}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  );
}
