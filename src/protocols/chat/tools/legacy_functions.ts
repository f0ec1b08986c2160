import type { JsonObject } from "../../../core/json.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { Stop } from "../../canonical/answer/stop.ts";
import type { FunctionTool } from "../../canonical/tools/tool.ts";
import { encodeStop } from "../answer/stop.ts";
import type { WireFunction } from "../wire.ts";

/**
 * The deprecated `functions`, before there were tools: an answer holds one call at most, which has no id
 * (https://platform.openai.com/docs/api-reference/chat/create#chat-create-functions).
 */

/** Reads `functions`; the mark says in which words their calls are to be told. */
export function decodeLegacyFunctions(
  functions: readonly WireFunction[],
): readonly FunctionTool[] {
  return functions.map(({ name, description, parameters }) => ({
    kind: "function",
    name,
    description: description ?? undefined,
    parameters: parameters ?? undefined,
    marks: { chat: { isLegacy: true } },
  }));
}

/** Whether the caller knows functions only, and no tools. */
export function isLegacyCaller({ request }: AnswerContext): boolean {
  return request.tools.some(({ kind, ...tool }) =>
    kind === "function" && "marks" in tool &&
    tool.marks?.chat?.isLegacy === true
  );
}

/** The one call of an answer, as a field of the message or a delta. */
export function legacyCall(name: string, callArguments: string): JsonObject {
  return { function_call: { name, arguments: callArguments } };
}

/** Writes a `finish_reason` in the words of the caller. */
export function stopForCaller(stop: Stop, context: AnswerContext): string {
  const word = encodeStop(stop);
  return word === "tool_calls" && isLegacyCaller(context)
    ? "function_call"
    : word;
}
