import {
  type FunctionCallBlock,
  isToolCall,
} from "../../canonical/content/block.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../canonical/request/request.ts";
import { fitId } from "../../canonical/tools/tool_call_id.ts";

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
  const unique = createUniqueIds();
  const calls = new Map<string, { readonly made: string[]; next: number }>();
  return {
    call(id) {
      const made = unique(id);
      const same = calls.get(id);
      if (same === undefined) calls.set(id, { made: [made], next: 0 });
      else same.made.push(made);
      return made;
    },
    result(callId) {
      const same = calls.get(callId);
      return same?.made[same.next++] ?? fitId(callId, ID_RULE);
    },
  };
}

/** The calls of a history by their ids alone, which is what {@linkcode createAnswerIds} looks at. */
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

/** Gives the calls of an answer ids that no call of the request's history has. */
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
 * Fits ids to the wire, and changes those that are in use; the same ids in the same order become the same.
 *
 * @param taken The ids that are in use from the start.
 */
function createUniqueIds(
  taken: readonly string[] = [],
): (id: string) => string {
  const used = new Set(taken);
  /** How often an id was tried, so that a history of many equal ones takes no longer than another. */
  const tries = new Map<string, number>();
  return (id) => {
    let made = fitId(id, ID_RULE);
    let count = tries.get(id) ?? 1;
    while (used.has(made)) made = fitId(`${id}#${++count}`, ID_RULE);
    tries.set(id, count);
    used.add(made);
    return made;
  };
}
