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
  const used = new Set<string>();
  const pending = new Map<string, string[]>();
  return {
    call(id) {
      const unique = uniqueId(id, used);
      pending.set(id, [...pending.get(id) ?? [], unique]);
      return unique;
    },
    result: (callId) => pending.get(callId)?.shift() ?? fitId(callId, ID_RULE),
  };
}

/** Gives the calls of an answer ids that no call of the request's history has. */
export function createAnswerIds(
  { turns }: CanonicalRequest,
): (id: string) => string {
  let used: Set<string> | undefined;
  return (id) => {
    used ??= new Set(
      turns.flatMap(({ blocks }) => blocks).filter(isToolCall).map((call) =>
        call.id
      ),
    );
    return uniqueId(id, used);
  };
}

/** `id` as it may stand on the wire, changed where it is in use; the same input gives the same output. */
function uniqueId(id: string, used: Set<string>): string {
  let unique = fitId(id, ID_RULE);
  for (let count = 2; used.has(unique); count++) {
    unique = fitId(`${id}#${count}`, ID_RULE);
  }
  used.add(unique);
  return unique;
}
