import type { SseFrame } from "../../../core/frame.ts";
import { isHeavyJson, parseJson } from "../../../core/json.ts";

/**
 * What came whole of a stream's last frame, whose blank line never came: all of it, or the lines before one that was
 * cut, where each is an event by itself. What was cut is no part of the stream: what is wrong is that the stream ended.
 *
 * @returns `undefined` when nothing of it came whole.
 */
export function wholePart(frame: SseFrame): SseFrame | undefined {
  if (isHeavyJson(frame.data) || isWhole(frame.data)) return frame;
  const lines = frame.data.split("\n");
  const last = lines.pop() ?? "";
  if (lines.length === 0 || !lines.every(isWhole)) return undefined;
  return isWhole(last) ? frame : { ...frame, data: lines.join("\n") };
}

function isWhole(data: string): boolean {
  return data.trim() === "[DONE]" || parseJson(data) !== undefined;
}
