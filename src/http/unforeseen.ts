import type { EventFields } from "../observe/log_events.ts";

/**
 * What the log says of an exception that nobody foresaw: its class and where it came from. Not its message,
 * which may quote what the caller or the upstream sent, as that of `JSON.parse` does.
 */
export function unforeseenFields(
  thrown: unknown,
  requestId: string,
): EventFields<"unforeseen"> {
  const isError = thrown instanceof Error;
  return {
    request_id: requestId,
    exception: isError ? thrown.name : typeof thrown,
    stack: isError ? framesOf(thrown) : [],
  };
}

/** The message stands before the frames and may have lines that look like some. */
function framesOf({ stack = "", message }: Error): readonly string[] {
  const start = stack.indexOf(message);
  if (start === -1) return [];
  return stack.slice(start + message.length).split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
}
