import type { Turn } from "../../../../src/demo/ask/ask.ts";

/** How the calls and results of a conversation fail to pair up. */
interface HistoryFault {
  /** `unanswered`: a call without a result before the conversation goes on; `orphan`: a result without a call. */
  readonly kind: "unanswered" | "orphan";
  readonly callId: string;
}

/**
 * The first call that has no result before the next turn that is not one, or the first result of no call;
 * `undefined` when all pair up. Every provider checks this, so a translation that tears a pair apart is
 * found out here.
 */
export function faultOfHistory(
  turns: readonly Turn[],
): HistoryFault | undefined {
  const open = new Set<string>();
  for (const turn of turns) {
    const fault = turn.role === "tool"
      ? answerCall(open, turn)
      : unanswered(open, turn);
    if (fault !== undefined) return fault;
    for (const call of turn.calls) open.add(call.id);
  }
  return firstOpen(open);
}

function answerCall(open: Set<string>, turn: Turn): HistoryFault | undefined {
  const callId = turn.callId ?? "";
  return open.delete(callId) ? undefined : { kind: "orphan", callId };
}

/** Calls of one answer may stand in several turns of the assistant, one after the other. */
function unanswered(open: Set<string>, turn: Turn): HistoryFault | undefined {
  return turn.role === "assistant" ? undefined : firstOpen(open);
}

function firstOpen(open: Set<string>): HistoryFault | undefined {
  const [callId] = open;
  return callId === undefined ? undefined : { kind: "unanswered", callId };
}
