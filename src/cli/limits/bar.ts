import { type Level, levelOf } from "../../http/page/level.js";
import type { QuotaWindow } from "../../limits/window.ts";
import type { Paint, Style } from "../colours.ts";

const USED = "█";
const UNUSED = "░";
const UNKNOWN = "·";

/** How a level looks; the words beside the bar say the same. */
export const STYLES: Readonly<Record<Level, Style>> = {
  unknown: "dim",
  plenty: "green",
  low: "yellow",
  scarce: "red",
  gone: "red",
  over: "magenta",
};

/**
 * The bar of a window: what is used of it, from the left. A stock, which has no size, has no bar.
 *
 * @param width In characters.
 */
export function drawBar(
  window: QuotaWindow,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string {
  const percent = window.used_percent;
  if (percent === null) {
    const isStock = window.remaining !== null && window.limit === null;
    return isStock ? " ".repeat(width) : paint("dim", UNKNOWN.repeat(width));
  }
  const used = usedCells(percent, width);
  return paint(STYLES[levelOf(window)], USED.repeat(used)) +
    paint("dim", UNUSED.repeat(width - used));
}

/** A little use shows, and so does a little rest. */
function usedCells(percent: number, width: number): number {
  if (percent <= 0) return 0;
  if (percent >= 100) return width;
  return Math.min(width - 1, Math.max(1, Math.round(percent / 100 * width)));
}
