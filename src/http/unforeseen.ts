import type { LogFields } from "../observe/log.ts";

/**
 * What the log says of an exception that nobody foresaw: its class and where it came from. Not its message,
 * which may quote what the caller or the upstream sent, as that of `JSON.parse` does.
 */
export function unforeseenFields(
  thrown: unknown,
  requestId: string,
): LogFields {
  const isError = thrown instanceof Error;
  return {
    request_id: requestId,
    error: isError ? thrown.name : typeof thrown,
    stack: isError ? framesOf(thrown.stack ?? "") : [],
  };
}

function framesOf(stack: string): readonly string[] {
  return stack.split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
}
