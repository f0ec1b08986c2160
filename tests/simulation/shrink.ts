import type { History, Scale } from "./history.ts";

/**
 * Leaves out sessions and events while a history still breaks the same promise. Those that are left do what they did
 * before, as far as the gateway lets them.
 *
 * @param live Lives the same seed, with what a scale keeps.
 * @returns The smallest history that was found, with its scale.
 */
export async function shrink(
  scale: Scale,
  live: (scale: Scale) => Promise<History>,
): Promise<{ readonly scale: Scale; readonly history: History }> {
  let history = await live(scale);
  const promise = promiseIn(history.broken[0] ?? "");
  let kept = history.actors;
  let size = Math.ceil(kept.length / 2);
  for (;;) {
    const before = kept.length;
    // The last ones first: what came after the failure goes at once.
    for (let end = kept.length; end > 0; end -= size) {
      const fewer = kept.toSpliced(
        Math.max(0, end - size),
        Math.min(size, end),
      );
      const smaller = await live({ ...scale, kept: fewer });
      const breaks = smaller.broken.some((line) => promiseIn(line) === promise);
      if (breaks) [kept, history] = [fewer, smaller];
    }
    if (size === 1 && kept.length === before) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  return { scale: { ...scale, kept }, history };
}

/** Returns the name of the promise in a line about a broken one. */
export function promiseIn(line: string): string {
  return line.split(": ")[0] ?? "";
}
