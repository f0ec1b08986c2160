import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type {
  ImageBlock,
  OpaqueBlock,
  TextBlock,
} from "../../canonical/content/block.ts";
import { textOf } from "../fields.ts";
import { decodeParts } from "../request/part_decode.ts";

/** A block of an agent message that other models can read. */
type Readable = TextBlock | ImageBlock;

/**
 * Parses a message from one agent of Codex to another: the task of a sub-agent, or a later message.
 *
 * Codex sends the text in `encrypted_content` to every provider. Only the text of OpenAI's models is encrypted.
 *
 * Sources: https://github.com/openai/codex/pull/26210, https://github.com/openai/codex/issues/33551,
 * https://github.com/ollama/ollama/issues/18286
 *
 * @param param The path of the item, for error messages.
 * @throws {GatewayError} `invalid_request`, which names a wrong part.
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

/** Returns the parts that other models can read, and the types of the parts that only OpenAI can read. */
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
 * Matches a Fernet token as OpenAI writes it: the version, a time of this century, and at least 100 characters.
 * Sources: https://github.com/fernet/spec/blob/master/Spec.md, https://github.com/duolahypercho/codex-router/pull/109
 */
const CIPHERTEXT = /^gAAAAA[\w-]{92,}={0,2}$/;

/**
 * Returns a line that names the sender of a message. Returns nothing if the text already names the sender, as in most
 * messages of Codex.
 */
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
