import { attemptsOf, exchanges, lineOf, type Promised } from "./look_ups.ts";

const DAY_MS = 24 * 3600_000;

/** The promises of docs/translation.md about lessons. */
export const LESSON_PROMISES: Readonly<Record<string, Promised>> = {
  "one caller's refusals never change another caller's requests": function* (
    world,
  ) {
    const refusals = world.ledger.filter(({ refused }) =>
      refused !== undefined
    );
    for (const [one] of exchanges(world)) {
      const { lesson, connection } = lineOf(one, world) ?? {};
      const last = attemptsOf(one, world).at(-1);
      if (!Array.isArray(lesson) || last === undefined) continue;
      for (const text of lesson.map(String)) {
        const refused = refusals.filter((entry) =>
          entry.provider === connection && entry.refused !== undefined &&
          text.includes(entry.refused) &&
          entry.receivedMs <= last.receivedMs &&
          entry.receivedMs > last.receivedMs - DAY_MS
        );
        const callers = new Set(
          refused.map(({ request }) => world.asked[request]?.agent.name),
        );
        if (callers.size < 2 && !callers.has(one.agent.name)) {
          yield `#${one.number} of ${one.agent.name} lost by "${text}" of ${[
            ...callers,
          ]}`;
        }
      }
    }
  },
};
