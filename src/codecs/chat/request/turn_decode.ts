import { isJsonObject } from "@gateway/base/json";
import {
  type Block,
  isToolCall,
  type OpaqueBlock,
  type ReasoningBlock,
  type ToolCallBlock,
} from "../../canonical/content/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import type { Role, Turn } from "../../canonical/request/request.ts";
import { givenArguments } from "../../canonical/tools/tool.ts";
import {
  decodeThinkingBlocks,
  hasEnvelopes,
  reasoningInEnvelopes,
  sealedOfCall,
  sealedOfDetails,
  textOfDetails,
} from "../answer/reasoning_details.ts";
import { decodeParts, resultContents } from "./part_decode.ts";
import type { WireMessage, WireToolCall } from "../wire.ts";

/**
 * Reads each message as a turn, but consecutive results of tools as one turn. Throws `invalid_request` with the path of
 * an invalid message.
 */
export function decodeMessages(
  messages: readonly WireMessage[],
): readonly Turn[] {
  const turns: Turn[] = [];
  const customIds = new Set<string>();
  let results: Block[] | undefined;
  const add = (turn: Turn) => {
    for (const block of turn.blocks) {
      if (block.kind === "custom_call") customIds.add(block.id);
    }
    if (turn.role !== "tool") {
      results = undefined;
      turns.push(turn);
    } else if (results === undefined) {
      results = [...turn.blocks];
      turns.push({ ...turn, blocks: results });
    } else {
      results.push(...turn.blocks);
    }
  };
  messages.forEach((message, index) =>
    splitResults(decodeMessage(message, `messages[${index}]`, customIds))
      .forEach(add)
  );
  return turns;
}

/** Moves the results in a user's message to a separate turn before the other blocks. */
function splitResults(turn: Turn): readonly Turn[] {
  const results = turn.blocks.filter(({ kind }) => kind === "tool_result");
  if (turn.role !== "user" || results.length === 0) return [turn];
  const blocks = turn.blocks.filter(({ kind }) => kind !== "tool_result");
  return [
    { role: "tool", blocks: results },
    ...(blocks.length === 0 ? [] : [{ ...turn, blocks }]),
  ];
}

const ROLES: ReadonlyMap<string, Role> = new Map<string, Role>([
  ["system", "system"],
  ["developer", "developer"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["tool", "tool"],
  ["function", "tool"],
]);

function decodeMessage(
  message: WireMessage,
  param: string,
  customIds: ReadonlySet<string>,
): Turn {
  const role = ROLES.get(message.role);
  const name = message.name ?? undefined;
  switch (role) {
    case undefined:
      throw invalidField(
        `${param}.role`,
        "must be system, developer, user, assistant or tool",
      );
    case "assistant":
      return { role, name, blocks: decodeAssistant(message, param) };
    case "tool":
      return { role, blocks: decodeResults(message, param, customIds) };
    default:
      return { role, name, blocks: decodeContent(message, param) };
  }
}

/**
 * Reads the content of a message. The message's cache mark applies to the last block. Rejects calls outside of
 * assistant messages, and results outside of user and tool messages.
 */
function decodeContent(message: WireMessage, param: string): readonly Block[] {
  const blocks = decodeParts(message.content ?? undefined, {
    param: `${param}.content`,
    cacheHolder: message,
  });
  const role = ROLES.get(message.role);
  const other = blocks.findIndex((block) =>
    isToolCall(block) && role !== "assistant" ||
    block.kind === "tool_result" && role !== "user" && role !== "tool"
  );
  if (other < 0) return blocks;
  throw invalidField(
    `${param}.content[${other}]`,
    `cannot be in a message of \`${message.role}\``,
  );
}

function decodeAssistant(
  message: WireMessage,
  param: string,
): readonly Block[] {
  const refusal = message.refusal ?? "";
  const content = decodeContent(message, param)
    .filter((block) => block.kind !== "text" || block.text !== "");
  const known = new Set(content.filter(isToolCall).map(({ id }) => id));
  return [
    ...decodeReasoning(message),
    ...content,
    ...(refusal === "" ? [] : [{ kind: "refusal", text: refusal } as const]),
    ...decodeAudio(message),
    // Some clients send the same call twice: in the content and in `tool_calls`.
    ...decodeCalls(message, param).filter(({ id }) => !known.has(id)),
  ];
}

/** Reads the id of audio that the model generated earlier. Only the provider of the audio knows this id. */
function decodeAudio({ audio }: WireMessage): OpaqueBlock[] {
  if (!isJsonObject(audio)) return [];
  return [{
    kind: "opaque",
    protocol: "chat",
    type: "audio",
    value: audio,
    weight: "report",
  }];
}

/** Reads the reasoning that the client sends back: readable, sealed or both. */
function decodeReasoning(message: WireMessage): ReasoningBlock[] {
  const details = message.reasoning_details ?? [];
  const enveloped = reasoningInEnvelopes(details);
  if (enveloped.length > 0) return enveloped;
  const text = message.reasoning_content ?? message.reasoning ??
    textOfDetails(details);
  const sealed = hasEnvelopes(details) ? undefined : sealedOfDetails(details);
  if (details.length === 0) {
    const blocks = decodeThinkingBlocks(message.thinking_blocks ?? []);
    if (blocks.length > 0) return blocks;
  }
  if (text === "" && sealed === undefined) return [];
  return [{
    kind: "reasoning",
    parts: text === "" ? [] : [{ form: "raw", text }],
    sealed,
  }];
}

function decodeCalls(message: WireMessage, param: string): ToolCallBlock[] {
  const calls = (message.tool_calls ?? []).map((call, index) =>
    decodeCall(call, `${param}.tool_calls[${index}]`)
  );
  const legacy = message.function_call;
  if (legacy === null || legacy === undefined) return calls;
  return [...calls, {
    kind: "function_call",
    id: legacyId(legacy.name),
    name: legacy.name,
    arguments: givenArguments(legacy.arguments),
  }];
}

function decodeCall(call: WireToolCall, param: string): ToolCallBlock {
  const id = call.id ?? "";
  if (id === "") throw invalidField(`${param}.id`, "is missing");
  if (call.custom !== null && call.custom !== undefined) {
    return {
      kind: "custom_call",
      id,
      name: call.custom.name,
      input: call.custom.input,
    };
  }
  const shape = call.function;
  if (shape === null || shape === undefined) {
    throw invalidField(`${param}.function`, "is missing");
  }
  const { extra_content } = call;
  return {
    kind: "function_call",
    id,
    name: shape.name,
    arguments: givenArguments(shape.arguments),
    sealed: sealedOfCall(extra_content ?? undefined),
  };
}

/** Reads a tool message. It holds the result of one call, or a list of results in the form of Messages. */
function decodeResults(
  message: WireMessage,
  param: string,
  customIds: ReadonlySet<string>,
): readonly Block[] {
  const blocks = decodeContent(message, param);
  const isList = blocks.length > 0 &&
    blocks.every(({ kind }) => kind === "tool_result");
  if (isList) return blocks;
  const callId = message.role === "function"
    ? legacyId(message.name ?? "")
    : message.tool_call_id ?? "";
  if (callId === "") throw invalidField(`${param}.tool_call_id`, "is missing");
  return [{
    kind: "tool_result",
    callId,
    callKind: customIds.has(callId) ? "custom" : "function",
    content: resultContents(blocks, `${param}.content`),
    isError: false,
  }];
}

/**
 * Returns the id for a deprecated `function_call` and for its result. Neither has an id, but both name the function.
 */
function legacyId(name: string): string {
  return `function_${name}`;
}
