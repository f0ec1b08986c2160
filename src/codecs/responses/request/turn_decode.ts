import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Block, ToolCallBlock } from "../../canonical/content/block.ts";
import {
  invalidField,
  unsupportedState,
} from "../../canonical/request/invalid_request.ts";
import type { Role, Turn } from "../../canonical/request/request.ts";
import type { Tool } from "../../canonical/tools/tool.ts";
import { decodeAgentMessage } from "../items/agent_message.ts";
import { decodeCall, decodeResult } from "../tools/call_item.ts";
import { otherFields, ownMetadata, withMetadata } from "../fields.ts";
import { decodeParts, messageHead, type PartBlock } from "./part_decode.ts";
import { historyItem, roleOfItem } from "./opaque_item.ts";
import { decodeReasoning } from "./reasoning_item.ts";
import { decodeTools } from "../tools/decode.ts";

/**
 * The advice for an error about item references. The AI SDK sends such references unless `store` is false:
 * https://ai-sdk.dev/providers/ai-sdk-providers/openai
 */
const SEND_ITEMS =
  "Send the items themselves, as clients do with `store: false` (AI SDK: `providerOptions.openai.store`)";

/** The decoded list of items. */
interface DecodedInput {
  readonly turns: readonly Turn[];
  /** The tools that items contain. */
  readonly loaded: readonly Tool[];
}

/**
 * Parses `input`. Consecutive items of the model form one turn. Consecutive results form one turn too. Each message of
 * the caller is a separate turn.
 *
 * @throws {GatewayError} `invalid_request` with the path of the item.
 */
export function decodeInput(
  input: string | readonly JsonValue[],
): DecodedInput {
  if (typeof input === "string") {
    return {
      turns: [{ role: "user", blocks: [{ kind: "text", text: input }] }],
      loaded: [],
    };
  }
  const reader = createReader();
  input.forEach((item, index) => {
    const param = `input[${index}]`;
    if (!isJsonObject(item)) throw invalidField(param, "must be an object");
    reader.push(item, param);
  });
  return reader;
}

interface Reader extends DecodedInput {
  push(item: JsonObject, param: string): void;
}

function createReader(): Reader {
  const turns: {
    role: Role;
    blocks: Block[];
    providerMetadata?: Turn["providerMetadata"];
  }[] = [];
  const loaded: Tool[] = [];
  const calls = new Set<string>();

  /** Appends blocks to the last turn if that turn has this role. Otherwise appends a new turn. */
  function append(role: "assistant" | "tool", blocks: readonly Block[]): void {
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks] });
  }

  function pushMessage(item: JsonObject, param: string): void {
    const { role } = item;
    const blocks = decodeParts(item.content, `${param}.content`);
    switch (role) {
      case "user":
      case "system":
      case "developer":
        turns.push({
          role,
          blocks: [...blocks],
          providerMetadata: messageMetadata(item),
        });
        break;
      case "assistant":
        append(
          role,
          withMessageStart(blocks, item, turns.at(-1)?.role !== role),
        );
        break;
      default:
        throw invalidField(
          `${param}.role`,
          "must be user, system, developer or assistant",
        );
    }
  }

  function pushCall(call: ToolCallBlock, param: string): void {
    if (call.id === "") throw invalidField(`${param}.call_id`, "is missing");
    if (call.name === "") throw invalidField(`${param}.name`, "is missing");
    calls.add(call.id);
    append("assistant", [call]);
  }

  function pushOpaque(item: JsonObject, param: string): void {
    const role = roleOfItem(item);
    if (item.type === "additional_tools") pushLoaded(item, param);
    if (role === "assistant") append(role, [historyItem(item)]);
    else turns.push({ role, blocks: [historyItem(item)] });
  }

  /** Adds the tools in an item that the caller runs. Hosted tools in the item are reported as `additional_tools`. */
  function pushLoaded({ type, tools }: JsonObject, param: string): void {
    const list = Array.isArray(tools) ? tools.filter(isJsonObject) : [];
    const decoded = decodeTools(list, `${param}.tools`);
    loaded.push(
      ...decoded.filter(({ kind }) =>
        type !== "additional_tools" || kind !== "hosted"
      ),
    );
  }

  return {
    turns,
    loaded,
    push(item, param) {
      switch (typeOf(item)) {
        case "message":
          return pushMessage(item, param);
        case "reasoning":
          return append("assistant", [decodeReasoning(item)]);
        case "agent_message":
          turns.push({
            role: "user",
            blocks: [decodeAgentMessage(item, param)],
          });
          return;
        case "item_reference":
          throw unsupportedState(param, {
            what: "item_reference",
            advice: SEND_ITEMS,
          });
      }
      const call = decodeCall(item);
      if (call !== undefined) return pushCall(call, param);
      const result = decodeResult(item, { param, calls });
      if (result === undefined) return pushOpaque(item, param);
      if (item.type === "tool_search_output") pushLoaded(item, param);
      append("tool", [result]);
    },
  };
}

/** Returns the type of an item. A message or a reference may omit its type. */
function typeOf(item: JsonObject): JsonValue | undefined {
  if (typeof item.type === "string") return item.type;
  return typeof item.role === "string" ? "message" : "item_reference";
}

const MESSAGE_FIELDS = ["type", "role", "content"];

function messageMetadata(item: JsonObject): Turn["providerMetadata"] {
  const rest = otherFields(item, MESSAGE_FIELDS);
  return ownMetadata(rest === undefined ? undefined : { message: rest });
}

/**
 * Marks the first block of an assistant message as the start of the message. Keeps the other fields of the message on
 * that block.
 */
function withMessageStart(
  blocks: readonly PartBlock[],
  item: JsonObject,
  isFirst: boolean,
): readonly PartBlock[] {
  const [first, ...others] = blocks;
  if (first === undefined) return [];
  const message = otherFields(item, MESSAGE_FIELDS) ?? {};
  return [
    {
      ...first,
      ...(first.kind === "text" || first.kind === "refusal"
        ? { message: messageHead(item, isFirst) }
        : {}),
      providerMetadata: withMetadata(first, { message }),
    },
    ...others,
  ];
}
