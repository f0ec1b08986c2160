import type { Caller } from "./config.ts";
import { limitWords, type Price } from "./usage_limits.ts";

/** What a token may use, a line for each limit; those of its group say so. */
export function describeLimits(
  { limits, group }: Pick<Caller, "limits" | "group">,
): readonly string[] | string {
  const lines = [
    ...limits.map((limit) => limitWords(limit)),
    ...(group?.limits ?? []).map((limit) =>
      `${limitWords(limit)}, together with the group ${group?.name}`
    ),
  ];
  return lines.length === 0 ? "none" : lines;
}

/** What a model costs, in words. */
export function describePrice(
  { input, cachedInput, cacheWrite, output }: Price,
): string {
  return `USD per million: ${input} input, ${cachedInput} cached, ${cacheWrite} cache write, ${output} output`;
}
