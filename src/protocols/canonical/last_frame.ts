import type { SseFrame } from "../../core/frame.ts";
import { parseJson } from "../../core/json.ts";

/**
 * Whether a stream's last frame, whose blank line never came, came whole all the same. One that was cut is no part of
 * the stream: what is wrong is that the stream ended.
 */
export function isWholeFrame({ data }: SseFrame): boolean {
  return data.trim() === "[DONE]" || parseJson(data) !== undefined;
}
