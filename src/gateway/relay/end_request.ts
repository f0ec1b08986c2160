import type { AnswerFacts, Ending } from "../observe/facts.ts";
import type { EndedRequest } from "../observe/metrics.ts";
import { reportedUsage } from "../usage/tally.ts";
import type { Exchange } from "./exchange.ts";

/** A request at any stage. It has at least its record. */
type EndingRequest = Pick<Exchange, "record" | "holds">;

/**
 * Does one thing at the end of a request. An effect may return more facts about the answer. The effects after it get
 * these facts.
 */
type Effect = (
  request: EndingRequest,
  ended: EndedRequest,
) => Partial<AnswerFacts> | void;

/**
 * The effects of a request's end, in their order. Most of them call a function that another part of the gateway left in
 * `holds`.
 */
const EFFECTS: readonly Effect[] = [
  ({ holds }) => holds.unfollow?.(),
  ({ holds }) => holds.leave?.(),
  ({ holds }) => holds.place?.release(),
  ({ holds }, { ending }) => holds.report?.(ending),
  ({ holds }, { ending }) => {
    if (ending === "complete") holds.slot?.completed?.();
  },
  ({ holds }) => holds.slot?.leave(),
  (_, ended) => ({ usage: reportedUsage(ended) }),
  ({ holds }, ended) => ({ cacheMiss: holds.judgeCache?.(ended) }),
  ({ holds }, ended) => holds.tally?.end(ended),
  ({ holds }) => holds.conversation?.(),
  ({ record }, ended) => record.writeLine(ended),
  ({ record }, ended) => record.count(ended),
  ({ holds }, ended) => holds.span?.end(ended),
  ({ holds }) => holds.memory?.close(),
  ({ holds }) => holds.body?.release(),
];

/**
 * Ends a request, in the same way after every kind of answer, error and disconnect. Only the first call counts. All
 * effects run, even if one throws.
 *
 * @throws The first error of an effect, after all of them.
 */
export function endRequest(request: EndingRequest, ending: Ending): void {
  const { record } = request;
  if (!record.finish()) return;
  const { facts } = record;
  // The effects change a copy. The facts that the attempt noted stay as they are.
  const answer = { ...facts.answer };
  const ended = {
    facts: { ...facts, answer },
    ending,
    totalMs: record.elapsedMs(),
  };
  const faults: unknown[] = [];
  for (const effect of EFFECTS) {
    try {
      Object.assign(answer, effect(request, ended));
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}
