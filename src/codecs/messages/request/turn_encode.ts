import type { JsonObject } from "@gateway/base/json";
import type { Block } from "../../canonical/content/block.ts";
import { isSystem } from "../../canonical/request/history.ts";
import type { Turn } from "../../canonical/request/request.ts";
import {
  encodeAssistantBlock,
  encodeTextualBlock,
  encodeUserBlock,
} from "./part_encode.ts";
import type { Scope } from "../dialect.ts";

/** The conversation in the protocol's two fields. */
interface Conversation {
  readonly system: readonly JsonObject[];
  readonly messages: readonly Draft[];
}

/** The content of an empty user message, and of the user message before an answer that would be the first message. */
const NO_CONTENT: JsonObject = { type: "text", text: "(no content)" };
const CONTINUED: JsonObject = { type: "text", text: "(continued)" };
/** The user message after an answer at the end, for a model that does not continue such an answer by itself. */
const CONTINUE: JsonObject = { type: "text", text: "Continue." };

/**
 * Encodes turns by the rules of providers. Roles alternate, and the user begins. Results come first, directly after
 * their calls. No text is blank. A system message stays where the model accepts one, or becomes a reminder in a user
 * message.
 */
export function encodeTurns(
  turns: readonly Turn[],
  scope: Scope,
): Conversation {
  const first = turns.findIndex((turn) => !isSystem(turn));
  const count = first < 0 ? turns.length : first;
  // The system text is encoded first, as in the request: the order decides which cache marks are surplus.
  const system = turns.slice(0, count).flatMap(({ blocks }) =>
    encodeBlocks(blocks, encodeTextualBlock, scope)
  );
  const drafts: Draft[] = [];
  for (const turn of turns.slice(count)) addTurn(drafts, turn, scope);
  return { system, messages: finish(placeSystem(drafts, scope), scope) };
}

function addTurn(drafts: Draft[], turn: Turn, scope: Scope): void {
  if (turn.role === "assistant") {
    const content = encodeBlocks(turn.blocks, encodeAssistantBlock, scope);
    if (!content.every(isThinking)) addContent(drafts, "assistant", content);
    return;
  }
  if (isSystem(turn)) {
    const content = encodeBlocks(turn.blocks, encodeTextualBlock, scope);
    if (content.length > 0) addContent(drafts, "system", content);
    return;
  }
  const content = encodeBlocks(turn.blocks, encodeUserBlock, scope);
  addContent(drafts, "user", content.length > 0 ? content : [NO_CONTENT]);
}

/** Returns true for thinking. Providers reject an answer that has only thinking or is empty. */
function isThinking({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function encodeBlocks(
  blocks: readonly Block[],
  encode: (block: Block, scope: Scope) => JsonObject | undefined,
  scope: Scope,
): JsonObject[] {
  return blocks.map((block) => encode(block, scope)).filter((block) =>
    block !== undefined
  );
}

function finish(
  drafts: readonly Draft[],
  { dialect }: Scope,
): readonly Draft[] {
  const begun: readonly Draft[] = drafts[0]?.role === "user"
    ? drafts
    : [{ role: "user", content: [CONTINUED] }, ...drafts];
  if (begun.at(-1)?.role !== "assistant") return begun;
  return dialect.ability.continues
    ? trimPrefill(begun)
    : [...begun, { role: "user", content: [CONTINUE] }];
}

/** Removes white space at the end of an answer that the model must continue, because providers reject it. */
function trimPrefill(drafts: readonly Draft[]): readonly Draft[] {
  const last = drafts.at(-1);
  const block = last?.content.at(-1);
  if (last?.role !== "assistant" || typeof block?.text !== "string") {
    return drafts;
  }
  const content = [...last.content.slice(0, -1), {
    ...block,
    text: block.text.trimEnd(),
  }];
  return [...drafts.slice(0, -1), { ...last, content }];
}

/** A message while it is assembled. */
export interface Draft {
  readonly role: "user" | "assistant" | "system";
  readonly content: JsonObject[];
}

/** Adds content to the last message if that message has the same role. Otherwise adds a new message. */
function addContent(
  drafts: Draft[],
  role: Draft["role"],
  content: readonly JsonObject[],
): void {
  const last = drafts.at(-1);
  if (last?.role !== role) {
    drafts.push({ role, content: [...content] });
  } else {
    for (const block of content) last.content.push(block);
  }
}

/**
 * Keeps system messages where the model accepts them: after a user message and before an answer or the end. All other
 * system messages become reminders in a user message, with the mark that clients use. Moving these messages to the
 * front would change their meaning and invalidate the prompt cache.
 */
function placeSystem(drafts: readonly Draft[], scope: Scope): readonly Draft[] {
  const placed: Draft[] = [];
  drafts.forEach((draft, index) => {
    const { role, content } = draft;
    if (role !== "system" || isPlaced(drafts, index, scope)) {
      addContent(placed, role, content);
      return;
    }
    const reminders = content.map((block) => asReminder(block, scope))
      .filter((block) => block !== undefined);
    if (reminders.length > 0) addContent(placed, "user", reminders);
  });
  return placed;
}

function isPlaced(
  drafts: readonly Draft[],
  index: number,
  { dialect }: Scope,
): boolean {
  const next = drafts[index + 1];
  return dialect.ability.turns.systemAnywhere &&
    drafts[index - 1]?.role === "user" &&
    (next === undefined || next.role === "assistant");
}

function asReminder(
  block: JsonObject,
  { context }: Scope,
): JsonObject | undefined {
  if (block.type === "text") {
    return {
      ...block,
      text: `<system-reminder>\n${block.text}\n</system-reminder>`,
    };
  }
  context.reportDropped(
    "messages",
    `this model accepts no \`${block.type}\` in the middle of a conversation`,
  );
  return undefined;
}
