import { createHash } from "node:crypto";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import {
  type Block,
  type CacheMark,
  isToolCall,
  type OpaqueBlock,
  type ReasoningBlock,
  type ToolCallBlock,
  type ToolResultBlock,
} from "../../canonical/content/block.ts";
import { openForeignBlocks } from "../../canonical/answer/readable.ts";
import { maySend, type Sealed } from "../../canonical/content/sealed.ts";
import { settleHistory } from "../../canonical/request/history.ts";
import type { Turn } from "../../canonical/request/request.ts";
import { fitId, restoreNativeIds } from "../../canonical/tools/tool_call_id.ts";
import { detailsOfSealed, extraOfSealed } from "../answer/reasoning_details.ts";
import { encodeCache, type Scope } from "../dialect.ts";
import {
  contentText,
  encodeParts,
  isAttachment,
  joinText,
  systemText,
  textOf,
} from "./part_encode.ts";

/**
 * The rule for call ids. OpenAI limits their length. Some models need the characters of their own ids, such as
 * `functions.name:0`.
 */
const ID_RULE = { maxLength: 64, anyCharacter: true };

/** The placeholder for unknown reasoning, when a provider requires some on every message. */
const UNKNOWN_REASONING = " ";

/** The placeholder for a message that a provider requires and the history does not have. */
const CONTINUED = "(continued)";

/** The scope of encoding turns. */
interface TurnsScope extends Scope {
  /** True when the model thinks in this request. */
  readonly isThinking: boolean;
  /** True when the answer must continue the last turn. */
  readonly continues: boolean;
}

/** Encodes turns as `messages`. */
export function encodeTurns(
  turns: readonly Turn[],
  scope: TurnsScope,
): JsonObject[] {
  const native = restoreNativeIds(settleHistory(turns));
  const settled = openForeignBlocks(native, "chat")
    .map((turn) => isSystem(turn) ? asSystemText(turn, scope) : turn)
    .filter((turn) => !isDropped(turn, scope));
  const placed = scope.dialect.systemAnywhere ? settled : placeSystem(settled);
  const messages = placed.flatMap((turn) => encodeTurn(turn, scope));
  return fitMessages(fillReasoning(messages, scope), scope);
}

/** Adds the messages and marks that some providers require in a history. */
function fitMessages(
  messages: JsonObject[],
  { dialect, continues }: TurnsScope,
): JsonObject[] {
  const fitted = dialect.userAfterTool
    ? [...messages]
    : separateUsers(messages);
  if (dialect.demandsUser && !fitted.some(({ role }) => role === "user")) {
    const start = fitted.findIndex(({ role }) => role !== "system");
    const at = start < 0 ? fitted.length : start;
    fitted.splice(at, 0, { role: "user", content: CONTINUED });
  }
  if (dialect.namesResults) nameResults(fitted);
  const last = fitted.at(-1);
  if (dialect.continueField === undefined || !continues) return fitted;
  return last?.role === "assistant"
    ? [...fitted.slice(0, -1), { ...last, [dialect.continueField]: true }]
    : fitted;
}

/** Adds the name of the tool to each result in the messages. */
function nameResults(messages: JsonObject[]): void {
  const names = new Map<string, string>();
  messages.forEach((message, at) => {
    for (const call of listOf(message.tool_calls).filter(isJsonObject)) {
      const { id, function: called } = call;
      if (typeof id !== "string" || !isJsonObject(called)) continue;
      if (typeof called.name === "string") names.set(id, called.name);
    }
    const name = names.get(String(message.tool_call_id));
    if (message.role === "tool" && name !== undefined) {
      messages[at] = { ...message, name };
    }
  });
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Inserts an assistant message between the result of a tool and the user's next message. */
function separateUsers(messages: readonly JsonObject[]): JsonObject[] {
  return messages.flatMap((message, at) =>
    message.role === "user" && messages[at - 1]?.role === "tool"
      ? [{ role: "assistant", content: CONTINUED }, message]
      : [message]
  );
}

/** Reduces a system message to text. Some providers reject a list of parts there, and others reject an empty one. */
function asSystemText(turn: Turn, scope: Scope): Turn {
  return { ...turn, blocks: systemText(turn.blocks, scope) };
}

/**
 * Returns true when the turn is not sent. Providers reject an empty assistant message. Its blocks are reported as dropped.
 */
function isDropped(turn: Turn, scope: Scope): boolean {
  if (isSystem(turn)) return turn.blocks.length === 0;
  if (turn.role !== "assistant" || turn.blocks.some(hasContent)) {
    return false;
  }
  encodeAssistant(turn, scope);
  return true;
}

function hasContent(block: Block): boolean {
  return isToolCall(block) || isOwnAudio(block) ||
    (textOf(block) ?? "").trim() !== "";
}

/** Returns true for audio that the model generated, which its provider still has. */
function isOwnAudio(
  block: Block,
): block is OpaqueBlock & { readonly protocol: "chat" } {
  return block.kind === "opaque" && block.protocol === "chat" &&
    block.type === "audio";
}

function encodeTurn(turn: Turn, scope: Scope): JsonObject[] {
  const name = turn.name === undefined ? {} : { name: turn.name };
  switch (turn.role) {
    case "assistant":
      return [{ ...encodeAssistant(turn, scope), ...name }];
    case "tool":
      return encodeResults(turn, scope);
    default:
      return [{
        role: turn.role,
        content: encodeParts(turn.blocks, scope),
        ...name,
      }];
  }
}

function encodeAssistant(turn: Turn, scope: Scope): JsonObject {
  const calls = turn.blocks.filter(isToolCall).map((call) =>
    encodeCall(call, scope)
  );
  const reasoning = turn.blocks.filter((block) => block.kind === "reasoning");
  const audio = turn.blocks.find(isOwnAudio);
  return {
    role: "assistant",
    ...encodeReasoning(reasoning, scope),
    ...encodeContent(turn.blocks, scope),
    ...(audio === undefined || !scope.dialect.openaiSettings
      ? {}
      : { audio: audio.value }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Returns the text, and the refusal in its own field when the provider has one. */
function encodeContent(blocks: readonly Block[], scope: Scope): JsonObject {
  const refusal = blocks.filter((block) => block.kind === "refusal")
    .map(({ text }) => text).filter((text) => text !== "").join("\n\n");
  const text = textRuns(blocks, scope).map((run) => contentText(run, scope))
    .filter((run) => run !== "").join("\n\n");
  if (scope.dialect.fullToolset && refusal !== "") {
    return { content: text === "" ? null : text, refusal };
  }
  const all = [text, refusal].filter((words) => words !== "").join("\n\n");
  return { content: all === "" && blocks.some(isToolCall) ? null : all };
}

/**
 * Groups the blocks of the content. Reasoning, refusals, calls and new messages separate the groups. A block that is
 * not the model's text, but is shown as text, forms its own group.
 */
function textRuns(blocks: readonly Block[], { dialect }: Scope): Block[][] {
  const runs: Block[][] = [[]];
  for (const block of blocks) {
    if (dialect.openaiSettings && isOwnAudio(block)) continue;
    if (
      block.kind === "reasoning" || block.kind === "refusal" ||
      isToolCall(block)
    ) runs.push([]);
    else if (block.kind !== "text") runs.push([block], []);
    else if (block.message !== undefined) runs.push([block]);
    else runs.at(-1)?.push(block);
  }
  return runs;
}

/** Returns earlier reasoning for providers that accept it. Sealed reasoning goes only to its issuer. */
function encodeReasoning(
  blocks: readonly ReasoningBlock[],
  scope: Scope,
): JsonObject {
  const { dialect } = scope;
  const sendable = blocks.map(({ sealed }) => sendableOf(sealed, scope))
    .filter((one) => one !== undefined);
  const details = sendable.flatMap(detailsOfSealed);
  const extra = sendable.map(extraOfSealed).findLast((one) =>
    one !== undefined
  );
  const text = blocks.flatMap(({ parts }) => parts).map((part) => part.text)
    .join("\n\n");
  return {
    ...(dialect.reasoningField === undefined || text === ""
      ? {}
      : { [dialect.reasoningField]: text }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(extra === undefined ? {} : { extra_content: extra }),
  };
}

/** Returns the sealed data when the target issued it. */
function sendableOf(
  sealed: Sealed | undefined,
  { context }: Scope,
): Sealed | undefined {
  const { connectionId } = context.target;
  if (sealed === undefined) return undefined;
  if (maySend(sealed, { protocol: "chat", connectionId })) return sealed;
  context.reportDropped({
    field: "sealedReasoning",
    weight: "report",
    reason: "only the provider that issued it can read it",
  });
}

/**
 * Adds placeholder reasoning to assistant messages for providers that require it. Some require it on messages with
 * calls while the model thinks. Others require it on all messages when one has it.
 */
function fillReasoning(
  messages: JsonObject[],
  { dialect, isThinking }: TurnsScope,
): JsonObject[] {
  const field = dialect.reasoningField;
  if (field === undefined) return messages;
  const isKnown = messages.some((message) => message[field] !== undefined);
  const onAll = dialect.reasoningOnAll && isKnown;
  const onCalls = dialect.reasoningOfCalls && isThinking;
  for (const message of messages) {
    const isWanted = message.role === "assistant" &&
      (onAll || onCalls && message.tool_calls !== undefined) &&
      message.reasoning_details === undefined;
    if (isWanted) message[field] ??= UNKNOWN_REASONING;
  }
  return messages;
}

/** Returns the id of a call and its result, in the form that the provider accepts. */
function wireId(id: string, { dialect }: Scope): string {
  if (!dialect.shortCallIds) return fitId(id, ID_RULE);
  return SHORT_ID_REGEXP.test(id)
    ? id
    : createHash("sha256").update(id).digest("hex").slice(0, 9);
}

const SHORT_ID_REGEXP = /^[A-Za-z0-9]{9}$/;

function encodeCall(call: ToolCallBlock, scope: Scope): JsonObject {
  const sealed = sendableOf(call.sealed, scope);
  const extra_content = sealed && extraOfSealed(sealed);
  const extra = extra_content === undefined ? {} : { extra_content };
  const id = wireId(call.id, scope);
  if (call.kind === "custom_call") {
    return {
      id,
      type: "custom",
      custom: { name: call.name, input: call.input },
      ...extra,
    };
  }
  return {
    id,
    type: "function",
    function: {
      name: call.name,
      arguments: call.arguments === "" ? "{}" : call.arguments,
    },
    ...extra,
  };
}

/** Encodes each result as one message. Content that a tool message cannot hold follows in a user message. */
function encodeResults(turn: Turn, scope: Scope): JsonObject[] {
  const results = turn.blocks.filter((block) => block.kind === "tool_result");
  const attachments = results.flatMap(({ content }) =>
    content.filter(isAttachment)
  );
  const messages = results.map((result) => encodeResult(result, scope));
  if (attachments.length === 0) return messages;
  return [...messages, {
    role: "user",
    content: encodeParts(attachments, scope),
  }];
}

function encodeResult(result: ToolResultBlock, scope: Scope): JsonObject {
  const texts = result.content.filter((block) => !isAttachment(block));
  const notes = result.content.filter(isAttachment).map(({ kind }) =>
    `[${kind} attached below]`
  );
  const text = [joinText(texts, scope, "\n"), ...notes].filter((text) =>
    text !== ""
  ).join("\n");
  const content = text === "" ? "(empty)" : text;
  const isMarked = /^\s*error/i.test(content);
  const words = result.isError && !isMarked ? `Error: ${content}` : content;
  const cache = encodeCache(cacheOf(result), scope.dialect.cache);
  return {
    role: "tool",
    tool_call_id: wireId(result.callId, scope),
    // Only a part can have a cache mark.
    content: Object.keys(cache).length === 0
      ? words
      : [{ type: "text", text: words, ...cache }],
  };
}

/** Returns the cache mark of the result, or of its last part. */
function cacheOf({ cache, content }: ToolResultBlock): CacheMark | undefined {
  const last = content.at(-1);
  return cache ??
    (last !== undefined && "cache" in last ? last.cache : undefined);
}

/** Returns true for the roles `system` and `developer`. */
function isSystem({ role }: Turn): boolean {
  return role === "system" || role === "developer";
}

/**
 * Adapts the turns to templates that accept one system message, at the beginning. Joins the leading system messages.
 * Converts later ones to user messages with the mark that clients use for reminders. Then joins consecutive user turns.
 */
function placeSystem(turns: readonly Turn[]): readonly Turn[] {
  const first = turns.findIndex((turn) => !isSystem(turn));
  const leading = turns.slice(0, first < 0 ? turns.length : first);
  const rest = turns.slice(leading.length).map((turn) =>
    isSystem(turn) ? asReminder(turn) : turn
  );
  const system: Turn[] = leading.length === 0
    ? []
    : [{ role: "system", blocks: leading.flatMap(({ blocks }) => blocks) }];
  return [...system, ...joinUsers(rest)];
}

function asReminder(turn: Turn): Turn {
  const blocks = turn.blocks.map((block): Block =>
    block.kind === "text"
      ? {
        ...block,
        text: `<system-reminder>\n${block.text}\n</system-reminder>`,
      }
      : block
  );
  return { role: "user", blocks };
}

function joinUsers(turns: readonly Turn[]): readonly Turn[] {
  const joined: { readonly turn: Turn; readonly blocks: Block[] }[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    const isSameUser = turn.role === "user" && last?.turn.role === "user" &&
      turn.name === last.turn.name;
    if (isSameUser) {
      for (const block of turn.blocks) last.blocks.push(block);
    } else joined.push({ turn, blocks: [...turn.blocks] });
  }
  return joined.map(({ turn, blocks }) => ({ ...turn, blocks }));
}
