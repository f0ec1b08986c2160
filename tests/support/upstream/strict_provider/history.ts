import type { Turn } from "./ask.ts";

/** A call or result that has no partner. */
interface HistoryFault {
  /**
   * `unanswered`: a call without a result before the conversation continues; `orphan`: a result
   * without a call.
   */
  readonly kind: "unanswered" | "orphan";
  readonly callId: string;
}

/**
 * Returns the first call without a result before the next turn of another kind, or the first result
 * without a call; `undefined` when all pair up. Every provider checks this, so a translation that
 * separates a pair fails here.
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

/**
 * Returns the first open call before a turn of another role. The calls of one answer may be in
 * several consecutive assistant turns.
 */
function unanswered(open: Set<string>, turn: Turn): HistoryFault | undefined {
  return turn.role === "assistant" ? undefined : firstOpen(open);
}

function firstOpen(open: Set<string>): HistoryFault | undefined {
  const [callId] = open;
  return callId === undefined ? undefined : { kind: "unanswered", callId };
}
