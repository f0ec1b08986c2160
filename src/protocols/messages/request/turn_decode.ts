import type { JsonObject } from "../../../core/json.ts";
import type { Block } from "../../canonical/answer/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import type { Turn } from "../../canonical/request/request.ts";
import {
  decodeAssistantBlock,
  decodeResult,
  decodeSystemBlock,
  decodeUserBlock,
} from "../content/block_decode.ts";
import type { WireMessage } from "../wire.ts";

type Content = string | readonly JsonObject[];

/**
 * Reads the system text as the first turn.
 *
 * @throws {GatewayError} `invalid_request` naming the block.
 */
export function decodeSystem(system: Content | null | undefined): Turn[] {
  if (system === null || system === undefined) return [];
  return [{
    role: "system",
    blocks: decodeBlocks(system, "system", decodeSystemBlock),
  }];
}

/**
 * Reads `messages`, each as one turn; the tool results of a user message are a turn before it.
 *
 * @throws {GatewayError} `invalid_request` naming the message or block.
 */
export function decodeMessages(messages: readonly WireMessage[]): Turn[] {
  return messages.flatMap((message, index) =>
    decodeMessage(message, `messages[${index}]`)
  );
}

function decodeMessage({ role, content }: WireMessage, param: string): Turn[] {
  const place = `${param}.content`;
  switch (role) {
    case "user":
      return decodeUser(content, place);
    case "assistant":
      return [{
        role,
        blocks: decodeBlocks(content, place, decodeAssistantBlock),
      }];
    case "system":
      return [{
        role,
        blocks: decodeBlocks(content, place, decodeSystemBlock),
      }];
    default:
      throw invalidField(`${param}.role`, "is none of user, assistant, system");
  }
}

function decodeUser(content: Content, param: string): Turn[] {
  const blocks = decodeBlocks(
    content,
    param,
    (block, place) =>
      block.type === "tool_result"
        ? decodeResult(block, place)
        : decodeUserBlock(block, place),
  );
  const results = blocks.filter(({ kind }) => kind === "tool_result");
  if (results.length === 0) return [{ role: "user", blocks }];
  const rest = blocks.filter(({ kind }) => kind !== "tool_result");
  return rest.length === 0
    ? [{ role: "tool", blocks: results }]
    : [{ role: "tool", blocks: results }, { role: "user", blocks: rest }];
}

function decodeBlocks(
  content: Content,
  param: string,
  decode: (block: JsonObject, param: string) => Block,
): readonly Block[] {
  if (typeof content === "string") {
    return [decode({ type: "text", text: content }, param)];
  }
  return content.map((block, index) => decode(block, `${param}[${index}]`));
}
