import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type {
  ImageBlock,
  OpaqueBlock,
  TextBlock,
} from "../../canonical/content/block.ts";
import { textOf } from "../fields.ts";
import { decodeParts } from "../request/part_decode.ts";

/** What another model can read of a message between agents. */
type Readable = TextBlock | ImageBlock;

/**
 * Reads a message from one agent of Codex to another: the task of a sub-agent, and what agents send each other later.
 *
 * Codex calls what its own model wrote `encrypted_content`, whoever served that model. OpenAI's models encrypt it; of
 * every other model it is plain text.
 *
 * Sources: https://github.com/openai/codex/pull/26210, https://github.com/openai/codex/issues/33551,
 * https://github.com/ollama/ollama/issues/18286
 *
 * @param param The item's path, for error messages.
 * @throws {GatewayError} `invalid_request` naming a part that is wrong.
 */
export function decodeAgentMessage(
  item: JsonObject,
  param: string,
): OpaqueBlock {
  const { parts, unreadable } = readParts(item.content, `${param}.content`);
  const opaque = {
    kind: "opaque",
    protocol: "responses",
    value: item,
    weight: "reject",
  } as const;
  if (unreadable.length > 0) {
    return { ...opaque, type: `agent_message with ${unreadable.join(", ")}` };
  }
  return {
    ...opaque,
    type: "agent_message",
    content: [...senderOf(item, parts), ...parts],
  };
}

/** The parts, and the types of those that only OpenAI can read. */
function readParts(
  content: JsonValue | undefined,
  param: string,
): { readonly parts: Readable[]; readonly unreadable: string[] } {
  const plain = Array.isArray(content) ? content.map(asText) : content;
  const parts: Readable[] = [];
  const unreadable: string[] = [];
  for (const block of decodeParts(plain, param)) {
    if (block.kind === "text" || block.kind === "image") parts.push(block);
    else unreadable.push(block.kind === "opaque" ? block.type : block.kind);
  }
  return { parts, unreadable };
}

function asText(part: JsonValue): JsonValue {
  if (!isJsonObject(part) || part.type !== "encrypted_content") return part;
  const text = textOf(part.encrypted_content);
  return text === undefined || CIPHERTEXT.test(text)
    ? part
    : { type: "input_text", text };
}

/**
 * A token of Fernet, as OpenAI writes them: the version, a time of this century, and at least 100 characters.
 * Sources: https://github.com/fernet/spec/blob/master/Spec.md, https://github.com/duolahypercho/codex-router/pull/109
 */
const CIPHERTEXT = /^gAAAAA[\w-]{92,}={0,2}$/;

/** Codex names the sender in the text of most messages. */
function senderOf(
  { author, recipient }: JsonObject,
  parts: readonly Readable[],
): TextBlock[] {
  const sender = textOf(author) ?? "";
  const isNamed = parts.some((part) =>
    part.kind === "text" && part.text.includes(sender)
  );
  if (sender === "" || isNamed) return [];
  const to = textOf(recipient) ?? "";
  return [{
    kind: "text",
    text: `Message from ${sender}${to === "" ? "" : ` to ${to}`}:`,
  }];
}
