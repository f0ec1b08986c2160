import { isJsonObject } from "@gateway/base/json";
import type { WireMessage, WireRequest } from "../wire.ts";

/**
 * Returns the effort for the next answer. A system message between other messages may change the effort. If that system
 * message directly follows a user message with new input, the new effort applies to the answer to this user message.
 * Otherwise the new effort applies from the next user message with new input. Tool results are not new input.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/effort-per-message
 */
export function effortOf(
  { output_config, messages }: WireRequest,
): string | undefined {
  let effort = output_config?.effort ?? undefined;
  let next: string | undefined;
  let isAnswering = false;
  for (const message of messages) {
    if (message.role === "system") {
      const changed = effortIn(message);
      if (changed === undefined) continue;
      if (isAnswering) effort = changed;
      else next = changed;
      continue;
    }
    isAnswering = message.role === "user" && hasNewInput(message);
    if (!isAnswering || next === undefined) continue;
    effort = next;
    next = undefined;
  }
  return effort;
}

function effortIn({ output_config }: WireMessage): string | undefined {
  if (!isJsonObject(output_config)) return undefined;
  const { effort } = output_config;
  return typeof effort === "string" ? effort : undefined;
}

function hasNewInput({ content }: WireMessage): boolean {
  return typeof content === "string" ||
    content.some(({ type }) => type !== "tool_result");
}
