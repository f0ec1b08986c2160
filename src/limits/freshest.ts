import { type GoodReading, isGood, type Reading } from "./reading.ts";
import { type QuotaWindow, windowKey } from "./window.ts";

/**
 * Of what the quota endpoint told and what the last relayed answer told, the freshest for each window.
 *
 * Headers also stand in for an endpoint that fails, as long as they tell of a window that still runs: a
 * token that may call models need not be allowed to read its usage.
 *
 * @param polled What the endpoint told; undefined where there is none.
 * @param seen What the headers told; undefined where nothing was relayed yet.
 * @returns Undefined when neither told anything. `checkedAtMs` is that of its oldest window.
 */
export function freshest(
  polled: Reading | undefined,
  seen: GoodReading | undefined,
): Reading | undefined {
  if (seen === undefined) return polled;
  if (polled === undefined) return seen;
  if (!isGood(polled)) return seen.windows.some(isRunning) ? seen : polled;
  return seen.checkedAtMs > polled.checkedAtMs ? update(polled, seen) : polled;
}

function isRunning(one: QuotaWindow): boolean {
  return one.used !== null;
}

/** The endpoint tells of windows that the headers leave out; those keep its numbers and its age. */
function update(polled: GoodReading, seen: GoodReading): GoodReading {
  const newer = new Map(seen.windows.map((one) => [windowKey(one), one]));
  const polledKeys = new Set(polled.windows.map(windowKey));
  const isComplete = polled.windows.every((one) => newer.has(windowKey(one)));
  return {
    checkedAtMs: isComplete ? seen.checkedAtMs : polled.checkedAtMs,
    windows: [
      ...polled.windows.map((one) => newer.get(windowKey(one)) ?? one),
      ...seen.windows.filter((one) => !polledKeys.has(windowKey(one))),
    ],
  };
}
