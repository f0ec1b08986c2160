import type { ResultContent, ToolCallBlock, ToolResultBlock } from "./block.ts";
import type { Turn } from "./request.ts";

/** A call that waits for its result. */
interface OpenCall {
  readonly call: ToolCallBlock;
  result: ToolResultBlock | undefined;
}

/** Told to the model in place of a result that the history lacks. */
const MISSING_RESULT: readonly ResultContent[] = [
  { kind: "text", text: "[no result: interrupted]" },
];

/**
 * Brings the results of tool calls where the protocols demand them: in one `tool` turn right after the
 * assistant turn with the calls, in the order of the calls. What stood between comes after them. A call
 * without a result gets an error result that says so; a result without a call becomes words of the user,
 * so that nothing of the history is thrown away.
 *
 * Ids may come up again in later turns, as some models count from 0 in every answer: a result belongs to
 * the nearest call before it.
 */
export function settleHistory(turns: readonly Turn[]): readonly Turn[] {
  const open = new Map<string, OpenCall>();
  const groups = turns.map((turn): () => Turn[] => {
    if (turn.role === "assistant") return answerCalls(turn, open);
    if (turn.role !== "tool") return () => [turn];
    const orphans = turn.blocks.filter((block) => !takeResult(block, open)).map(
      asUser,
    );
    return () => orphans;
  });
  return groups.flatMap((settled) => settled());
}

/** Whether the block is a call of a tool that the caller runs. */
export function isToolCall(
  block: { readonly kind: string },
): block is ToolCallBlock {
  return block.kind === "function_call" || block.kind === "custom_call";
}

/** Opens the calls of an assistant turn; what is returned gives the turn and its results, once all have been seen. */
function answerCalls(turn: Turn, open: Map<string, OpenCall>): () => Turn[] {
  const calls = turn.blocks.filter(isToolCall).map((call): OpenCall => {
    const opened = { call, result: undefined };
    open.set(call.id, opened);
    return opened;
  });
  if (calls.length === 0) return () => [turn];
  return () => [turn, { role: "tool", blocks: calls.map(resultOf) }];
}

/** Hands a result to the call that waits for it; false where none does. */
function takeResult(
  block: Turn["blocks"][number],
  open: Map<string, OpenCall>,
): boolean {
  const call = block.kind === "tool_result"
    ? open.get(block.callId)
    : undefined;
  if (
    block.kind !== "tool_result" || call === undefined ||
    call.result !== undefined
  ) return false;
  call.result = block;
  return true;
}

function resultOf({ call, result }: OpenCall): ToolResultBlock {
  const callKind = call.kind === "custom_call" ? "custom" : "function";
  if (result !== undefined) return { ...result, callKind };
  return {
    kind: "tool_result",
    callId: call.id,
    callKind,
    content: MISSING_RESULT,
    isError: true,
  };
}

/** A result that no call waits for, as words of the user. */
function asUser(block: Turn["blocks"][number]): Turn {
  if (block.kind !== "tool_result") return { role: "user", blocks: [block] };
  const note = `[result of the earlier tool call ${block.callId}]`;
  return {
    role: "user",
    blocks: [{ kind: "text", text: note }, ...block.content],
  };
}
