import { isJsonObject } from "../../../core/json.ts";
import type { WireMessage, WireRequest } from "../wire.ts";

/**
 * The effort that the next answer is asked for: a system message among the others may change the one of the request.
 * It does so for the answer to the user's turn right before it, else from the next turn of the user's with new input
 * on; results of tools are none.
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
