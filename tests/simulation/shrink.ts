import { EVENT_KINDS, liveHistory, type Scale } from "./history.ts";

/** The parts of a history that can be left out. */
type Parts = Required<Pick<Scale, "kept" | "without">>;

/**
 * Leaves out kinds of events, then sessions, while a history still breaks the same promise. Each removal is another
 * history of the same seed, so what is left is small, but perhaps not the smallest.
 *
 * @returns The scale of the smaller history.
 */
export async function shrink(seed: number, scale: Scale): Promise<Scale> {
  const [first = ""] = (await liveHistory(seed, scale)).broken;
  const promise = promiseIn(first);
  const breaks = async (parts: Parts) => {
    const { broken } = await liveHistory(seed, { ...scale, ...parts });
    return broken.some((line) => promiseIn(line) === promise);
  };
  let parts: Parts = {
    kept: scale.kept ?? Array.from({ length: scale.sessions }, (_, at) => at),
    without: scale.without ?? [],
  };
  for (const kind of EVENT_KINDS) {
    const fewer = { ...parts, without: [...parts.without, kind] };
    if (await breaks(fewer)) parts = fewer;
  }
  let size = Math.ceil(parts.kept.length / 2);
  for (;;) {
    const before = parts.kept.length;
    for (let start = 0; start < parts.kept.length;) {
      const kept = parts.kept.toSpliced(start, size);
      const fewer = { ...parts, kept };
      if (kept.length > 0 && await breaks(fewer)) parts = fewer;
      else start += size;
    }
    if (size === 1 && parts.kept.length === before) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  return { ...scale, ...parts };
}

/** Returns the name of the promise in a line about a broken one. */
export function promiseIn(line: string): string {
  return line.split(": ")[0] ?? "";
}
