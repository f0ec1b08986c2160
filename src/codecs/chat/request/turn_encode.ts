import { createHash } from "node:crypto";
import type { JsonObject } from "@gateway/base/json";
import {
  type Block,
  type CacheMark,
  isToolCall,
  type OpaqueBlock,
  type ReasoningBlock,
  type ToolCallBlock,
  type ToolResultBlock,
} from "../../canonical/content/block.ts";
import { maySend, type Sealed } from "../../canonical/content/sealed.ts";
import { isSystem } from "../../canonical/request/history.ts";
import { dropSealed } from "../../canonical/request/loss.ts";
import type { Turn } from "../../canonical/request/request.ts";
import { fitId, restoreNativeIds } from "../../canonical/tools/tool_call_id.ts";
import {
  detailsOfSealed,
  extraOfSealed,
  lostExtra,
  signedDetails,
} from "../answer/reasoning_details.ts";
import { encodeCache, type Scope } from "../dialect.ts";
import { fitMessages, type TurnsScope } from "./fit_messages.ts";
import {
  encodeParts,
  isAttachment,
  joinText,
  systemText,
  textOf,
} from "./part_encode.ts";

/**
 * The rule for call ids. OpenAI limits the length of an id. Some models need the ids that they chose, such as
 * `functions.name:0`.
 */
const ID_RULE = { maxLength: 64, anyCharacter: true };

/** Encodes turns as `messages`. */
export function encodeTurns(
  turns: readonly Turn[],
  scope: TurnsScope,
): JsonObject[] {
  const settled = restoreNativeIds(turns)
    .map((turn) => isSystem(turn) ? asSystemText(turn, scope) : turn)
    .filter((turn) => !isDropped(turn, scope));
  const placed = scope.dialect.ability.turns.systemAnywhere
    ? settled
    : placeSystem(settled);
  const messages = placed.flatMap((turn) => encodeTurn(turn, scope));
  return fitMessages(messages, scope);
}

/**
 * Reduces a system message to text. Some providers reject a list of parts in a system message, and others reject an
 * empty list.
 */
function asSystemText(turn: Turn, scope: Scope): Turn {
  return { ...turn, blocks: systemText(turn.blocks, scope) };
}

/**
 * Returns true for a system or assistant message without content. Providers reject such a message. Its blocks are
 * reported as dropped.
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

/** Returns true for audio that a model generated earlier. The model's provider still has the audio. */
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
  const calls = turn.blocks.filter(isToolCall).map((call, index) =>
    encodeCall(call, scope, index === 0)
  );
  const reasoning = turn.blocks.filter((block) => block.kind === "reasoning");
  const audio = turn.blocks.find(isOwnAudio);
  return {
    role: "assistant",
    ...encodeReasoning(reasoning, calls, scope),
    ...encodeContent(turn.blocks, scope),
    ...(audio === undefined || !scope.dialect.ability.turns.ownAudio
      ? {}
      : { audio: audio.value }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/**
 * Returns the texts of an assistant message as `content`. If the provider has a field for refusals, a refusal after the
 * last text goes into that field. A refusal before a text becomes text, because the field would not keep its position.
 */
function encodeContent(blocks: readonly Block[], scope: Scope): JsonObject {
  const first = blocks.findIndex(({ kind }) => kind === "refusal");
  const isLast = first > blocks.findLastIndex(({ kind }) => kind === "text");
  if (scope.dialect.ability.tools.full && isLast) {
    const isRefusal = ({ kind }: Block) => kind === "refusal";
    const refusal = joinRuns(blocks.filter(isRefusal), scope);
    const text = joinRuns(blocks.filter((one) => !isRefusal(one)), scope);
    if (refusal !== "") return { content: text === "" ? null : text, refusal };
  }
  const all = joinRuns(blocks, scope);
  return { content: all === "" && blocks.some(isToolCall) ? null : all };
}

function joinRuns(blocks: readonly Block[], scope: Scope): string {
  return textRuns(blocks, scope).map((run) =>
    joinText(run, scope, "", "report")
  )
    .filter((run) => run !== "").join("\n\n");
}

/**
 * Groups the blocks of an assistant message that are shown as text. Reasoning, calls and new messages separate the
 * groups. A block of another kind than text forms a group alone.
 */
function textRuns(blocks: readonly Block[], scope: Scope): Block[][] {
  const runs: Block[][] = [[]];
  for (const block of blocks) {
    if (scope.dialect.ability.turns.ownAudio && isOwnAudio(block)) continue;
    if (block.kind === "reasoning" || isToolCall(block)) runs.push([]);
    else if (block.kind !== "text") runs.push([block], []);
    else if (block.message !== undefined) runs.push([block]);
    else runs.at(-1)?.push(block);
  }
  return runs;
}

/**
 * Returns the fields for earlier reasoning, as far as the provider accepts it. Sealed reasoning goes only to the
 * provider that issued it.
 */
function encodeReasoning(
  blocks: readonly ReasoningBlock[],
  calls: readonly JsonObject[],
  scope: Scope,
): JsonObject {
  const { dialect } = scope;
  const sendable = blocks.map(({ sealed }) => sendableOf(sealed, scope))
    .filter((one) => one !== undefined);
  const own = sendable.flatMap(detailsOfSealed);
  const details = dialect.signatures === "reasoning_details"
    ? signedDetails(own, calls)
    : own;
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

/** Returns sealed data if the target issued it. Otherwise reports the data as dropped. */
function sendableOf(
  sealed: Sealed | undefined,
  { context }: Scope,
): Sealed | undefined {
  const { connectionId } = context.target;
  if (sealed === undefined) return undefined;
  if (maySend(sealed, { protocol: "chat", connectionId })) return sealed;
  return dropSealed(context);
}

/** Converts the id of a call into the form that the provider accepts. The result of the call has the same id. */
function wireId(id: string, { dialect }: Scope): string {
  if (!dialect.ability.turns.shortCallIds) return fitId(id, ID_RULE);
  return SHORT_ID_REGEXP.test(id)
    ? id
    : createHash("sha256").update(id).digest("hex").slice(0, 9);
}

const SHORT_ID_REGEXP = /^[A-Za-z0-9]{9}$/;

function encodeCall(
  call: ToolCallBlock,
  scope: Scope,
  isFirst: boolean,
): JsonObject {
  const sealed = sendableOf(call.sealed, scope);
  const extra_content = (sealed && extraOfSealed(sealed)) ??
    (isFirst && scope.dialect.signatures === "extra_content"
      ? lostExtra(scope.context.target.service)
      : undefined);
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
  const attachments = scope.dialect.ability.turns.mediaOfResults
    ? results.flatMap(({ content }) => content.filter(isAttachment))
    : [];
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
    scope.dialect.ability.turns.mediaOfResults
      ? `[${kind} attached below]`
      : omitted(kind, scope)
  );
  const text = [joinText(texts, scope, "\n"), ...notes].filter((text) =>
    text !== ""
  ).join("\n");
  const content = text === "" ? "(empty)" : text;
  const isMarked = /^\s*error/i.test(content);
  const words = result.isError && !isMarked ? `Error: ${content}` : content;
  const cache = encodeCache(cacheOf(result), scope.dialect);
  return {
    role: "tool",
    tool_call_id: wireId(result.callId, scope),
    // A text cannot have a cache mark, but a part can.
    content: Object.keys(cache).length === 0
      ? words
      : [{ type: "text", text: words, ...cache }],
  };
}

/** Reports that the model cannot read a picture or file in a result. Returns the text to send instead. */
function omitted(kind: Block["kind"], { context }: Scope): string {
  context.reportDropped(
    "messages",
    `this model cannot read the \`${kind}\` in a tool's result`,
  );
  return `[${kind} left out: this model reads text alone]`;
}

/** Returns the cache mark of the result, or of its last part. */
function cacheOf({ cache, content }: ToolResultBlock): CacheMark | undefined {
  const last = content.at(-1);
  return cache ??
    (last !== undefined && "cache" in last ? last.cache : undefined);
}

/**
 * Adapts the turns to templates that accept only one system message, at the beginning. Joins the system messages at the
 * beginning. Converts later system messages to user messages with the mark that clients use for reminders. Then joins
 * consecutive user messages.
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
