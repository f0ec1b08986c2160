import { isToolCall } from "../canonical/history.ts";
import type { CanonicalRequest } from "../canonical/request.ts";
import { fitId } from "../canonical/tool_call_id.ts";

/**
 * Ids of tool calls as the protocol has them: of few characters, and never twice in one conversation. Some
 * models count from 0 in every answer; upstreams refuse such a history, and clients, which pair results with
 * calls by id alone, go round in circles.
 */

const ID_RULE = { maxLength: 128 };

/** Gives the calls of a history ids of their own, and the results the ids of their calls. */
export interface HistoryIds {
  /** The id for the next call. */
  call(id: string): string;
  /** The id for the next result; results follow their calls in the same order, as `settleHistory` puts them. */
  result(callId: string): string;
}

/** Ids for one request to an upstream. */
export function createHistoryIds(): HistoryIds {
  const used = new Map<string, number>();
  const pending = new Map<string, string[]>();
  return {
    call(id) {
      const unique = uniqueId(id, used);
      const waiting = pending.get(id);
      if (waiting === undefined) pending.set(id, [unique]);
      else waiting.push(unique);
      return unique;
    },
    result: (callId) => pending.get(callId)?.shift() ?? fitId(callId, ID_RULE),
  };
}

/** Gives the calls of an answer ids that no call of the request's history has. */
export function createAnswerIds(
  { turns }: CanonicalRequest,
): (id: string) => string {
  let used: Map<string, number> | undefined;
  return (id) => {
    used ??= new Map(
      turns.flatMap(({ blocks }) => blocks).filter(isToolCall).map((call) => [
        call.id,
        1,
      ]),
    );
    return uniqueId(id, used);
  };
}

/**
 * `id` as it may stand on the wire, changed where it is in use; the same input gives the same output.
 *
 * @param used The ids in use, with how often each has been asked for.
 */
function uniqueId(id: string, used: Map<string, number>): string {
  const fitted = fitId(id, ID_RULE);
  let unique = fitted;
  let count = used.get(fitted) ?? 0;
  while (used.has(unique)) unique = fitId(`${id}#${++count}`, ID_RULE);
  used.set(fitted, Math.max(count, 1));
  used.set(unique, used.get(unique) ?? 1);
  return unique;
}
