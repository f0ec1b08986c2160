import type { History, Scale } from "./history.ts";

/**
 * Removes sessions and events from a history while it still breaks the same promise. The others behave as before, as
 * far as the gateway's responses allow.
 *
 * @param run Runs the history of one seed, with the sessions and events that `scale.kept` names.
 * @returns The smallest history found, with its scale.
 */
export async function shrink(
  scale: Scale,
  run: (scale: Scale) => Promise<History>,
): Promise<{ readonly scale: Scale; readonly history: History }> {
  let history = await run(scale);
  const promise = promiseIn(history.broken[0] ?? "");
  let kept = history.actors;
  let size = Math.ceil(kept.length / 2);
  for (;;) {
    const before = kept.length;
    // The last ones first: all after the failure can go at once.
    for (let end = kept.length; end > 0; end -= size) {
      const fewer = kept.toSpliced(
        Math.max(0, end - size),
        Math.min(size, end),
      );
      const smaller = await run({ ...scale, kept: fewer });
      const breaks = smaller.broken.some((line) => promiseIn(line) === promise);
      if (breaks) [kept, history] = [fewer, smaller];
    }
    if (size === 1 && kept.length === before) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  return { scale: { ...scale, kept }, history };
}

/** Returns the name of the promise in a line about its breach. */
export function promiseIn(line: string): string {
  return line.split(": ")[0] ?? "";
}
