import {
  isToolCall,
  type ResultContent,
  type ToolCallBlock,
  type ToolResultBlock,
} from "../content/block.ts";
import type { Turn } from "./request.ts";

/** A call and what came of it. */
interface AwaitedCall {
  readonly call: ToolCallBlock;
  result: ToolResultBlock | undefined;
}

/** The calls of the nearest turn with one id, of which those from `next` on wait for their results. */
interface Queue {
  readonly calls: AwaitedCall[];
  next: number;
}

/** A turn with its calls, or with the results that no call before it waits for. */
interface Group {
  readonly turn: Turn;
  readonly calls: readonly AwaitedCall[];
  readonly orphans: readonly ToolResultBlock[];
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
  const queues = new Map<string, Queue>();
  return turns.map((turn) => readTurn(turn, queues)).flatMap(writeGroup);
}

/** Notes the turn's calls in `queues`, and gives its results to the calls that wait there. */
function readTurn(turn: Turn, queues: Map<string, Queue>): Group {
  switch (turn.role) {
    case "assistant":
      return { turn, calls: awaitCalls(turn, queues), orphans: [] };
    case "tool":
      return { turn, calls: [], orphans: giveResults(turn, queues) };
    default:
      return { turn, calls: [], orphans: [] };
  }
}

function awaitCalls(turn: Turn, queues: Map<string, Queue>): AwaitedCall[] {
  const calls = turn.blocks.filter(isToolCall).map((call): AwaitedCall => ({
    call,
    result: undefined,
  }));
  for (const { call } of calls) queues.set(call.id, { calls: [], next: 0 });
  for (const awaited of calls) {
    queues.get(awaited.call.id)?.calls.push(awaited);
  }
  return calls;
}

function giveResults(
  turn: Turn,
  queues: ReadonlyMap<string, Queue>,
): ToolResultBlock[] {
  const orphans: ToolResultBlock[] = [];
  for (const block of turn.blocks) {
    if (block.kind !== "tool_result") continue;
    const queue = queues.get(block.callId);
    const awaited = queue?.calls[queue.next];
    if (queue === undefined || awaited === undefined) {
      orphans.push(block);
    } else {
      awaited.result = block;
      queue.next++;
    }
  }
  return orphans;
}

function writeGroup({ turn, calls, orphans }: Group): Turn[] {
  if (turn.role === "tool") return orphans.map(asWords);
  if (calls.length === 0) return [turn];
  return [turn, { role: "tool", blocks: calls.map(resultOf) }];
}

function resultOf({ call, result }: AwaitedCall): ToolResultBlock {
  const callKind = call.kind === "custom_call" ? "custom" : "function";
  return result === undefined
    ? {
      kind: "tool_result",
      callId: call.id,
      callKind,
      content: MISSING_RESULT,
      isError: true,
    }
    : { ...result, callKind };
}

/** A result without a call, as words of the user. */
function asWords(result: ToolResultBlock): Turn {
  return {
    role: "user",
    blocks: [
      {
        kind: "text",
        text: `[result of the earlier tool call ${result.callId}]`,
      },
      ...result.content,
    ],
  };
}
