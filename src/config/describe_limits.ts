import type { Caller } from "./config.ts";
import {
  limitWords,
  type Price,
  type Prices,
  type Rate,
} from "./usage_limits.ts";

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
export function describePrice({ rates, ...prices }: Price): string {
  return [
    `USD per million: ${describePrices(prices)}`,
    ...rates.map(({ when, prices }) =>
      `${describeWhen(when)}: ${describePrices(prices)}`
    ),
  ].join("; ");
}

function describePrices(
  { input, cachedInput, cacheWrite, cacheWrite1h, output }: Prices,
): string {
  return [
    `${input} input, ${cachedInput} cached, ${cacheWrite} cache write`,
    ...(cacheWrite1h === cacheWrite
      ? []
      : [`${cacheWrite1h} cache write for an hour`]),
    `${output} output`,
  ].join(", ");
}

function describeWhen(
  { inputOver, speed, serviceTier }: Rate["when"],
): string {
  return [
    ...(inputOver === undefined ? [] : [`over ${inputOver} input tokens`]),
    ...(speed === undefined ? [] : [`speed ${speed}`]),
    ...(serviceTier === undefined ? [] : [`service tier ${serviceTier}`]),
  ].join(", ");
}
