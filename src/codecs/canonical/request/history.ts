import type { Protocol } from "@gateway/base/protocol";
import {
  type Block,
  isToolCall,
  type ReasoningBlock,
  type ResultContent,
  type ToolCallBlock,
  type ToolResultBlock,
} from "../content/block.ts";
import { createUniqueIds, providerId } from "../tools/tool_call_id.ts";
import type { Turn } from "./request.ts";

/** Returns true for the roles `system` and `developer`. */
export function isSystem({ role }: Turn): boolean {
  return role === "system" || role === "developer";
}

/** A call with its id for the provider, and its result. */
interface AwaitedCall {
  readonly call: ToolCallBlock;
  result: ToolResultBlock | undefined;
}

/**
 * The calls with the same id in one turn: the latest turn with that id. The calls from the index `next` on have no
 * result yet.
 */
interface Queue {
  readonly calls: AwaitedCall[];
  next: number;
}

/** A turn with its calls, or with the results that match no earlier call. */
interface Group {
  readonly turn: Turn;
  readonly calls: readonly AwaitedCall[];
  readonly orphans: readonly ToolResultBlock[];
}

/** The text that the model gets in place of a missing result. */
const MISSING_RESULT: readonly ResultContent[] = [
  { kind: "text", text: "[no result: interrupted]" },
];

/**
 * The text in place of a result that is still to come: "include its output in a later Responses request"
 * (https://developers.openai.com/api/docs/guides/async-tool-calling).
 */
const LATER_RESULT: readonly ResultContent[] = [
  { kind: "text", text: "[no result yet: the tool is still running]" },
];

/**
 * Moves the results of tool calls directly after the assistant turn with the calls, as the protocols require. The
 * results become one `tool` turn, in the order of the calls. Turns between a call and its result follow the result. A
 * call without a result gets an error as its result, or a note if the tool is still running. A result without a call
 * becomes text of the user, so that no history is lost.
 *
 * Later turns may repeat an id, because some models count from 0 in each answer. A result belongs to the nearest call
 * before the result. Each call gets an id that no other call has: the provider's id for the call, if possible.
 */
export function settleHistory(turns: readonly Turn[]): readonly Turn[] {
  const queues = new Map<string, Queue>();
  const unique = createUniqueIds();
  const idFor = (id: string) => unique(id, [providerId(id), id]);
  return turns.map((turn) => readTurn(turn, queues, idFor)).flatMap(writeGroup);
}

/** Adds the turn's calls to `queues`, and assigns its results to the calls there. */
function readTurn(
  turn: Turn,
  queues: Map<string, Queue>,
  idFor: (id: string) => string,
): Group {
  switch (turn.role) {
    case "assistant":
      return awaitCalls(turn, queues, idFor);
    case "tool":
      return { turn, calls: [], orphans: assignResults(turn, queues) };
    default:
      return { turn, calls: [], orphans: [] };
  }
}

function awaitCalls(
  turn: Turn,
  queues: Map<string, Queue>,
  idFor: (id: string) => string,
): Group {
  const calls: AwaitedCall[] = [];
  const begun = new Map<string, Queue>();
  const blocks = turn.blocks.map((block) => {
    if (!isToolCall(block)) return block;
    const call = { ...block, id: idFor(block.id) };
    const awaited = { call, result: undefined };
    const queue = begun.get(block.id) ?? { calls: [], next: 0 };
    queue.calls.push(awaited);
    begun.set(block.id, queue);
    queues.set(block.id, queue);
    calls.push(awaited);
    return call;
  });
  return { turn: { ...turn, blocks }, calls, orphans: [] };
}

function assignResults(
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
  if (turn.role === "tool") return orphans.map(asUserText);
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
      content: call.isAsync ? LATER_RESULT : MISSING_RESULT,
      isError: call.isAsync !== true,
    }
    : { ...result, callId: call.id, callKind };
}

/** Returns a user turn with the content of a result that belongs to no call. */
function asUserText(result: ToolResultBlock): Turn {
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

/**
 * Returns true when the last answer called tools, and the request lacks the reasoning before the calls.
 *
 * @param isSent Returns true for reasoning that goes to the target.
 */
export function lacksLoopReasoning(
  turns: readonly Turn[],
  isSent: (block: ReasoningBlock) => boolean,
): boolean {
  const isContent = (block: Block) =>
    block.kind === "reasoning"
      ? isSent(block)
      : block.kind !== "text" || block.text.trim() !== "";
  let answer: readonly Block[] = [];
  for (const { role, blocks } of turns.toReversed()) {
    const content = role === "assistant" ? blocks.filter(isContent) : [];
    const isAnswer = content.some(({ kind }) => kind !== "reasoning");
    if (isAnswer) answer = [...content, ...answer];
    else if (role !== "assistant" && answer.length > 0) break;
  }
  return answer.some(isToolCall) && answer[0]?.kind !== "reasoning";
}

/** Replaces each opaque block of another protocol with the block's `content`. A block without `content` stays. */
export function openForeignBlocks(
  turns: readonly Turn[],
  protocol: Protocol,
): readonly Turn[] {
  return turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.flatMap((block) => open(block, protocol)),
  }));
}

function open(block: Block, protocol: Protocol): readonly Block[] {
  if (block.kind !== "tool_result") {
    return contentOf(block, protocol) ?? [block];
  }
  const content = block.content.flatMap((part): readonly ResultContent[] =>
    contentOf(part, protocol) ?? [part]
  );
  return [{ ...block, content }];
}

function contentOf(
  block: Block,
  protocol: Protocol,
): readonly ResultContent[] | undefined {
  return block.kind === "opaque" && block.protocol !== protocol
    ? block.content
    : undefined;
}
