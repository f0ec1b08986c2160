import type { Block } from "../../canonical/answer/block.ts";
import type { Turn } from "../../canonical/request/request.ts";

/** Whether the turn is a system message, by either of its names. */
export function isSystem({ role }: Turn): boolean {
  return role === "system" || role === "developer";
}

/**
 * For templates that know one system message, at the beginning: joins the leading ones, and makes later ones
 * words of the user, marked as clients themselves mark such reminders. Then joins neighbouring user turns.
 */
export function placeSystem(turns: readonly Turn[]): readonly Turn[] {
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
