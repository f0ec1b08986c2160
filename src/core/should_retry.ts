import type { Protocol } from "./protocol.ts";

/**
 * Returns the headers of an error that no repetition helps against. No single header stops every client, so each of
 * these serves those that ignore the others (docs/failover.md#retry-or-stop):
 *
 * - `x-should-retry: false` stops the SDKs of OpenAI and Anthropic, Claude Code at 429 and 5xx, and Qwen Code over
 *   Responses.
 * - Codex repeats nearly every error 5 to 30 times and waits for `retry-after` each time, however long it is; opencode
 *   repeats 429 and 5xx 5 times and prefers `retry-after-ms`. Short waits bring both to their end within seconds. One
 *   second rather than none, since versions of opencode before 1.18 repeat without limit.
 * - Claude Code repeats 401 and 403 10 times where a command gives it the token, as our settings do. It stops only at a
 *   `retry-after` of more than a minute.
 */
export function stopHeaders(
  protocol: Protocol,
  status: number,
): Readonly<Record<string, string>> {
  const isCredential = status === 401 || status === 403;
  return {
    "x-should-retry": "false",
    "retry-after": protocol === "messages" && isCredential ? "61" : "0",
    "retry-after-ms": "1000",
  };
}
