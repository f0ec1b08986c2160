import type { JsonObject, JsonValue } from "../../core/json.ts";
import { createTurn, type Turn } from "./ask.ts";
import { objectsOf, textOf } from "./fields.ts";
import { faultOfHistory } from "./history.ts";
import { Refusal } from "../refusal.ts";
import { unseal } from "../seal.ts";

/**
 * The conversation of a Responses request.
 *
 * @param instructions Empty when there are none.
 * @throws {Refusal} When an item is wrong, when sealed reasoning is not the provider's own, or when calls
 * and outputs do not pair up.
 */
export function readResponsesTurns(
  items: readonly JsonObject[],
  instructions: string,
): Turn[] {
  const turns = items.flatMap(readItem);
  checkHistory(turns);
  return instructions === ""
    ? turns
    : [createTurn("system", { texts: [instructions] }), ...turns];
}

function readItem(item: JsonObject, index: number): Turn[] {
  switch (item.type ?? "message") {
    case "message":
      return [readMessage(item, index)];
    case "function_call":
    case "custom_tool_call":
      return [createTurn("assistant", {
        calls: [{ id: textOf(item.call_id), name: textOf(item.name) }],
      })];
    case "function_call_output":
    case "custom_tool_call_output":
      return [createTurn("tool", {
        callId: textOf(item.call_id),
        ...readContent(item.output),
      })];
    case "reasoning":
    case "compaction":
      return readSealed(item, index);
    default:
      return [];
  }
}

function readMessage(item: JsonObject, index: number): Turn {
  const content = readContent(item.content);
  switch (item.role) {
    case "user":
    case "assistant":
    case "system":
      return createTurn(item.role, content);
    case "developer":
      return createTurn("system", content);
    default:
      throw new Refusal(
        "invalid",
        `Invalid value: '${
          textOf(item.role)
        }'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
        { param: `input[${index}]`, code: "invalid_value" },
      );
  }
}

function readContent(
  content: JsonValue | undefined,
): Pick<Turn, "texts" | "attachmentCount"> {
  if (typeof content === "string") {
    return { texts: [content], attachmentCount: 0 };
  }
  const parts = objectsOf(content);
  const texts = parts.filter((part) => typeof part.text === "string");
  return {
    texts: texts.map((part) => textOf(part.text)),
    attachmentCount: parts.length - texts.length,
  };
}

function readSealed(item: JsonObject, index: number): Turn[] {
  const token = item.encrypted_content;
  if (typeof token !== "string") return [];
  const text = unseal(token);
  if (text === undefined) {
    throw new Refusal(
      "invalid",
      "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
      {
        param: `input[${index}].encrypted_content`,
        code: "invalid_encrypted_content",
      },
    );
  }
  return [createTurn("assistant", { texts: [text] })];
}

/** Other than in the other protocols, items may stand between a call and its output. */
function checkHistory(turns: readonly Turn[]): void {
  const fault = faultOfHistory(
    turns.filter(({ role }) => role === "assistant" || role === "tool"),
  );
  if (fault === undefined) return;
  throw new Refusal(
    "invalid",
    fault.kind === "unanswered"
      ? `No tool output found for function call ${fault.callId}.`
      : `No tool call found for function call output with call_id ${fault.callId}.`,
    { param: "input" },
  );
}
