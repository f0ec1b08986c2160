import {
  type FunctionCallBlock,
  isToolCall,
} from "../../canonical/content/block.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../canonical/request/request.ts";
import { fitId } from "../../canonical/tools/tool_call_id.ts";

const ID_RULE = { maxLength: 128 };

/**
 * Assigns unique ids to the calls of a history, and the same ids to their results. Some models count from 0 in every
 * answer. Providers reject repeated ids, and clients that pair results with calls by id repeat the same steps
 * endlessly.
 */
export interface HistoryIds {
  /** Returns the id of the next call. */
  call(id: string): string;
  /** Returns the id of the next result. `settleHistory` puts results in the order of their calls. */
  result(callId: string): string;
}

/** Creates the ids of one request. */
export function createHistoryIds(): HistoryIds {
  const unique = createUniqueIds();
  const calls = new Map<
    string,
    { readonly assigned: string[]; next: number }
  >();
  return {
    call(id) {
      const assigned = unique(id);
      const same = calls.get(id);
      if (same === undefined) calls.set(id, { assigned: [assigned], next: 0 });
      else same.assigned.push(assigned);
      return assigned;
    },
    result(callId) {
      const same = calls.get(callId);
      return same?.assigned[same.next++] ?? fitId(callId, ID_RULE);
    },
  };
}

/** Returns the calls of a history with their ids only, which {@linkcode createAnswerIds} reads. */
export function historyForAnswer(turns: readonly Turn[]): readonly Turn[] {
  const calls = turns.flatMap(({ blocks }) => blocks).filter(isToolCall);
  if (calls.length === 0) return [];
  const blocks = calls.map(({ id, name }): FunctionCallBlock => ({
    kind: "function_call",
    id,
    name,
    arguments: "",
  }));
  return [{ role: "assistant", blocks }];
}

/** Returns a function that assigns ids to the calls of an answer. No call of the request's history has them. */
export function createAnswerIds(
  { turns }: CanonicalRequest,
): (id: string) => string {
  let unique: ((id: string) => string) | undefined;
  return (id) => {
    unique ??= createUniqueIds(
      turns.flatMap(({ blocks }) => blocks).filter(isToolCall).map((call) =>
        call.id
      ),
    );
    return unique(id);
  };
}

/**
 * Returns a function that shortens ids to the limit and changes ids that are in use. The same ids in the same order
 * give the same results.
 *
 * @param taken The ids that are in use at the start.
 */
function createUniqueIds(
  taken: readonly string[] = [],
): (id: string) => string {
  const used = new Set(taken);
  /** The number of attempts for each id, so that many equal ids cost no more time than distinct ones. */
  const tries = new Map<string, number>();
  return (id) => {
    let assigned = fitId(id, ID_RULE);
    let count = tries.get(id) ?? 1;
    while (used.has(assigned)) assigned = fitId(`${id}#${++count}`, ID_RULE);
    tries.set(id, count);
    used.add(assigned);
    return assigned;
  };
}
