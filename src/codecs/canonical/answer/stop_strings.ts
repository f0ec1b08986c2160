import type { Emit, Stage } from "@gateway/base/stage";
import { invalidField } from "../request/invalid_request.ts";
import type { Stop } from "./answer.ts";
import type { AnswerEvent, EndEvent } from "../stream/event.ts";
import { isToolCall, type TokenLogprob } from "../content/block.ts";

/** The most stop strings that the gateway searches for. Each chunk of an answer is searched for each string. */
const MAX_STOPS = 1000;

/** The most characters of all stop strings of a request together. */
const MAX_STOP_CHARACTERS = 64 * 1024;

/** Returns the stop strings at which the gateway cuts; throws `invalid_request`, with `param`, for too many strings. */
export function watchableStops(
  stops: readonly string[],
  param: string,
): readonly string[] {
  const characters = stops.reduce((sum, { length }) => sum + length, 0);
  if (stops.length <= MAX_STOPS && characters <= MAX_STOP_CHARACTERS) {
    return stops;
  }
  throw invalidField(
    param,
    "has too many stop strings. Beyond those that this model's provider accepts, the gateway searches for " +
      `at most ${MAX_STOPS}, of ${MAX_STOP_CHARACTERS} characters together. Send fewer.`,
  );
}

/** The place at which a text is cut, and the stop string there. */
interface Cut {
  readonly at: number;
  readonly sequence: string;
}

/**
 * Returns a stage that cuts an answer's text before the first of `stops`, for upstreams without stop strings. The end
 * event is sent only at the upstream's own end, because the usage comes with that end.
 */
export function cutAtStops(
  stops: readonly string[],
): Stage<AnswerEvent, AnswerEvent> {
  // The end of a text is held back, because it may be the beginning of a stop string.
  const longest = stops.reduce((most, { length }) => Math.max(most, length), 1);
  const holdBack = longest - 1;
  const open = new Set<number>();
  /** The held text of each open block. */
  const held = new Map<number, string>();
  const tokens = createTokenQueue();
  let hasCalls = false;
  let sequence: string | undefined;

  function emitText(
    index: number,
    text: string,
    emit: Emit<AnswerEvent>,
  ): void {
    if (text === "") return;
    const logprobs = tokens.take(index, text.length);
    emit(
      logprobs === undefined
        ? { type: "block-delta", index, text }
        : { type: "block-delta", index, text, logprobs },
    );
  }

  function addText(index: number, text: string, emit: Emit<AnswerEvent>): void {
    const before = held.get(index) ?? "";
    const all = before + text;
    const cut = findCut(all, stops, before.length);
    if (cut === undefined) {
      const ready = Math.max(0, all.length - holdBack);
      held.set(index, all.slice(ready));
      return emitText(index, all.slice(0, ready), emit);
    }
    held.set(index, all.slice(0, cut.at));
    sequence = cut.sequence;
    for (const one of [...open]) close(one, emit);
  }

  function close(index: number, emit: Emit<AnswerEvent>): void {
    emitText(index, held.get(index) ?? "", emit);
    held.delete(index);
    open.delete(index);
    emit({ type: "block-end", index });
  }

  function pass(event: AnswerEvent, emit: Emit<AnswerEvent>): void {
    switch (event.type) {
      case "block-start":
        open.add(event.index);
        if (event.block.kind === "text") held.set(event.index, "");
        hasCalls ||= isToolCall(event.block);
        return emit(event);
      case "block-delta":
        if (!held.has(event.index)) return emit(event);
        tokens.add(event.index, event.logprobs);
        return addText(event.index, event.text, emit);
      case "block-end":
        return close(event.index, emit);
      default:
        return emit(event);
    }
  }

  return {
    push(event, emit) {
      if (sequence === undefined) return pass(event, emit);
      // Clients run an answer's calls only if the stop reason is `tool_calls`.
      const reason = hasCalls ? "tool_calls" : "stop_sequence";
      const stop = { reason, sequence } as const;
      const end = endOf(event, stop);
      if (end !== undefined) emit(end);
    },
    end() {},
  };
}

/** Holds log probabilities until the text of their tokens is emitted. */
interface TokenQueue {
  add(index: number, tokens: readonly TokenLogprob[] | undefined): void;
  /** Removes and returns the tokens that end within the next `length` characters; `undefined` if no token does. */
  take(index: number, length: number): readonly TokenLogprob[] | undefined;
}

function createTokenQueue(): TokenQueue {
  const queues = new Map<number, { tokens: TokenLogprob[]; ready: number }>();
  return {
    add(index, tokens = []) {
      const queue = queues.get(index) ?? { tokens: [], ready: 0 };
      queue.tokens.push(...tokens);
      queues.set(index, queue);
    },
    take(index, length) {
      const queue = queues.get(index);
      if (queue === undefined) return undefined;
      queue.ready += length;
      let count = 0;
      for (const { token } of queue.tokens) {
        if (token.length > queue.ready) break;
        queue.ready -= token.length;
        count++;
      }
      return count === 0 ? undefined : queue.tokens.splice(0, count);
    },
  };
}

/** Returns the end of an answer that was cut. A failure after the cut does not matter, because the text is complete. */
function endOf(event: AnswerEvent, stop: Stop): EndEvent | undefined {
  if (event.type === "end") return { ...event, stop };
  return event.type === "failure" ? { type: "end", stop } : undefined;
}

/**
 * Returns the stop string that ends first, and its place, so that the cut does not depend on the chunks. If several
 * stop strings end at the same place, returns the longest.
 *
 * @param searched The length of the beginning of `text` in which an earlier search found no stop string.
 */
function findCut(
  text: string,
  stops: readonly string[],
  searched: number,
): Cut | undefined {
  return stops.map((sequence): Cut => ({
    at: text.indexOf(sequence, Math.max(0, searched - sequence.length + 1)),
    sequence,
  }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) =>
      endOfCut(one) - endOfCut(other) || one.at - other.at
    )[0];
}

function endOfCut({ at, sequence }: Cut): number {
  return at + sequence.length;
}
