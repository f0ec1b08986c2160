import type { ResultContent, ToolCallBlock, ToolResultBlock } from "./block.ts";
import type { Turn } from "./request.ts";

/** A result and the turn where it stood. */
interface Placed {
  readonly turn: number;
  readonly result: ToolResultBlock;
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
  const results = placeResults(turns);
  const settled = turns.map((turn, index) =>
    turn.role === "assistant" ? answerCalls(turns, index, results) : [turn]
  );
  return settled.flatMap((group, index) =>
    turns[index]?.role === "tool" ? orphans(index, results) : group
  );
}

/** Whether the block is a call of a tool that the caller runs. */
export function isToolCall(
  block: { readonly kind: string },
): block is ToolCallBlock {
  return block.kind === "function_call" || block.kind === "custom_call";
}

/** All results by the id of their call, in order. */
function placeResults(turns: readonly Turn[]): Map<string, Placed[]> {
  const results = new Map<string, Placed[]>();
  turns.forEach((turn, index) => {
    if (turn.role !== "tool") return;
    for (const block of turn.blocks) {
      if (block.kind !== "tool_result") continue;
      const placed = results.get(block.callId) ?? [];
      placed.push({ turn: index, result: block });
      results.set(block.callId, placed);
    }
  });
  return results;
}

/** The assistant turn at `index`, and the turn with the results of its calls; takes them out of `results`. */
function answerCalls(
  turns: readonly Turn[],
  index: number,
  results: Map<string, Placed[]>,
): Turn[] {
  const turn = turns[index];
  if (turn === undefined) return [];
  const calls = turn.blocks.filter(isToolCall);
  if (calls.length === 0) return [turn];
  const blocks = calls.map((call): ToolResultBlock => {
    const callKind = call.kind === "custom_call" ? "custom" : "function";
    const result = takeResult(
      results.get(call.id),
      index,
      nextUse(turns, index, call.id),
    );
    return result === undefined
      ? {
        kind: "tool_result",
        callId: call.id,
        callKind,
        content: MISSING_RESULT,
        isError: true,
      }
      : { ...result, callKind };
  });
  return [turn, { role: "tool", blocks }];
}

/** The first result between two turns, removed from `placed`. */
function takeResult(
  placed: Placed[] | undefined,
  after: number,
  before: number,
): ToolResultBlock | undefined {
  const position =
    placed?.findIndex(({ turn }) => turn > after && turn < before) ?? -1;
  return position < 0 ? undefined : placed?.splice(position, 1)[0]?.result;
}

/** The next assistant turn after `index` that calls with the same id. */
function nextUse(
  turns: readonly Turn[],
  index: number,
  callId: string,
): number {
  const next = turns.findIndex((turn, position) =>
    position > index && turn.role === "assistant" &&
    turn.blocks.some((block) => isToolCall(block) && block.id === callId)
  );
  return next < 0 ? Infinity : next;
}

/** What is left of the `tool` turn at `index`, as words of the user. */
function orphans(
  index: number,
  results: ReadonlyMap<string, readonly Placed[]>,
): Turn[] {
  const left = [...results.values()].flat().filter(({ turn }) =>
    turn === index
  );
  return left.map(({ result }) => ({
    role: "user",
    blocks: [
      {
        kind: "text",
        text: `[result of the earlier tool call ${result.callId}]`,
      },
      ...result.content,
    ],
  }));
}
