import type { JsonObject } from "../../../core/json.ts";
import type { Scope } from "../dialect.ts";

/** A message on its way to the wire. */
export interface Draft {
  readonly role: "user" | "assistant" | "system";
  readonly content: JsonObject[];
}

/** Adds content to the last message where it is the same speaker's, else as a new message. */
export function addContent(
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
 * Leaves system messages where the model takes them: after the user's words and before an answer or the end.
 * Elsewhere they become reminders in the user's words, marked as clients themselves mark such: to move them to
 * the front would change their meaning and spoil the prompt's cache.
 */
export function placeSystem(
  drafts: readonly Draft[],
  scope: Scope,
): readonly Draft[] {
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
  return dialect.systemAnywhere && drafts[index - 1]?.role === "user" &&
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
  context.lose({
    field: "messages",
    weight: "hint",
    reason:
      `this model takes no \`${block.type}\` in the middle of a conversation`,
  });
  return undefined;
}
