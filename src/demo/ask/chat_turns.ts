import type { JsonObject, JsonValue } from "../../core/json.ts";
import { createTurn, type Turn } from "./ask.ts";
import { objectOf, objectsOf, textOf } from "./fields.ts";
import { faultOfHistory } from "./history.ts";
import { Refusal } from "../refusal.ts";

const ROLES = ["system", "developer", "user", "assistant", "tool"];

/**
 * The conversation of a Chat Completions request.
 *
 * @throws {Refusal} When a message is missing, wrong or not of this protocol, or calls and results do not
 * pair up.
 */
export function readChatTurns(messages: JsonValue | undefined): Turn[] {
  if (messages === undefined) {
    throw new Refusal("invalid", "Missing required parameter: 'messages'.", {
      param: "messages",
      code: "missing_required_parameter",
    });
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new Refusal(
      "invalid",
      "Invalid 'messages': expected a list with at least one message.",
      { param: "messages", code: "invalid_type" },
    );
  }
  const turns = objectsOf(messages).map(readTurn);
  checkHistory(turns);
  return turns;
}

function readTurn(message: JsonObject, index: number): Turn {
  const role = textOf(message.role);
  if (!ROLES.includes(role)) {
    throw new Refusal(
      "invalid",
      `Invalid value: '${role}'. Supported values are: ${
        ROLES.map((role) => `'${role}'`).join(", ")
      }.`,
      { param: `messages[${index}].role`, code: "invalid_value" },
    );
  }
  const content = readContent(message.content, index);
  switch (role) {
    case "tool":
      return createTurn("tool", {
        ...content,
        callId: textOf(message.tool_call_id),
      });
    case "assistant":
      return createTurn("assistant", {
        ...content,
        calls: objectsOf(message.tool_calls).map(readCall),
      });
    default:
      return createTurn(role === "user" ? "user" : "system", content);
  }
}

function readContent(
  content: JsonValue | undefined,
  index: number,
): Pick<Turn, "texts" | "attachmentCount"> {
  if (typeof content === "string") {
    return { texts: [content], attachmentCount: 0 };
  }
  const texts: string[] = [];
  let attachmentCount = 0;
  for (const part of objectsOf(content ?? [])) {
    if (part.type === "text") texts.push(textOf(part.text));
    else if (KNOWN_PARTS.includes(textOf(part.type))) attachmentCount++;
    else throw unknownPart(textOf(part.type), index);
  }
  return { texts, attachmentCount };
}

const KNOWN_PARTS = ["image_url", "input_audio", "file", "refusal"];

function unknownPart(type: string, index: number): Refusal {
  return new Refusal(
    "invalid",
    `Invalid value: '${type}'. Supported values are: 'text', 'image_url', 'input_audio', 'file' and 'refusal'.`,
    { param: `messages[${index}].content`, code: "invalid_value" },
  );
}

function readCall(call: JsonObject): { id: string; name: string } {
  const made = objectOf(call.type === "custom" ? call.custom : call.function);
  return { id: textOf(call.id), name: textOf(made.name) };
}

function checkHistory(turns: readonly Turn[]): void {
  const fault = faultOfHistory(turns);
  if (fault === undefined) return;
  throw new Refusal(
    "invalid",
    fault.kind === "unanswered"
      ? `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${fault.callId}`
      : "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: "messages" },
  );
}
