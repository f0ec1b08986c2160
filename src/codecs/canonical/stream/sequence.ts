import { type Emit, pipe, type Stage } from "@gateway/base/stage";
import type { StreamEncoder } from "../codec.ts";
import type { AnswerEvent, BlockStartEvent } from "./event.ts";
import { oversizedAnswer, UpstreamFailure } from "../failure/failure.ts";
import { MAX_HELD_CHARACTERS } from "../max_sizes.ts";

/** The assumed size of a held event that is not a delta, in characters. */
const EVENT_COST = 64;

/** A block that waits for the blocks before it. */
interface Waiting {
  readonly start: BlockStartEvent;
  /** The events of the block so far. Consecutive deltas are joined. */
  readonly events: AnswerEvent[];
  closed: boolean;
}

/**
 * Returns a stage that separates overlapping blocks, for protocols with one open block at a time. The oldest open block
 * streams, and later blocks wait for its end. Indexes do not change.
 *
 * `push` throws an {@linkcode UpstreamFailure} when the waiting blocks are longer than the gateway can hold.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { runStage } from "@gateway/base/stage";
 *
 * const block = { kind: "text" } as const;
 * const events = runStage(createSequence(), [
 *   { type: "block-start", index: 0, block },
 *   { type: "block-start", index: 1, block },
 *   { type: "block-end", index: 1 },
 *   { type: "block-end", index: 0 },
 * ]);
 * assert.deepEqual(
 *   events.map((event) => "index" in event && event.index),
 *   [0, 0, 1, 1],
 * );
 * ```
 */
export function createSequence(): Stage<AnswerEvent, AnswerEvent> {
  let live: number | undefined;
  const waiting: Waiting[] = [];
  let held = 0;

  function release(emit: Emit<AnswerEvent>): void {
    live = undefined;
    while (live === undefined) {
      const next = waiting.shift();
      if (next === undefined) {
        held = 0;
        return;
      }
      emit(next.start);
      next.events.forEach(emit);
      if (!next.closed) live = next.start.index;
    }
  }

  function hold(index: number, event: AnswerEvent): void {
    const block = waiting.find((one) => one.start.index === index);
    if (block === undefined) return;
    held += event.type === "block-delta" ? event.text.length : EVENT_COST;
    if (held > MAX_HELD_CHARACTERS) throw tooLong();
    block.closed ||= event.type === "block-end";
    join(block.events, event);
  }

  return {
    push(event, emit) {
      switch (event.type) {
        case "block-start":
          if (live === undefined) {
            live = event.index;
            emit(event);
          } else {
            waiting.push({ start: event, events: [], closed: false });
          }
          break;
        case "block-part":
        case "block-delta":
        case "block-citation":
        case "block-seal":
          if (event.index === live) emit(event);
          else hold(event.index, event);
          break;
        case "block-end":
          if (event.index === live) {
            emit(event);
            release(emit);
          } else {
            hold(event.index, event);
          }
          break;
        default:
          emit(event);
      }
    },
    end() {},
  };
}

function tooLong(): UpstreamFailure {
  return new UpstreamFailure(
    oversizedAnswer(
      "The provider's parallel calls are longer than the gateway can hold",
    ),
  );
}

/** Returns an encoder that passes the events to `encoder` with only one open block at a time. */
export function sequenced(encoder: StreamEncoder): StreamEncoder {
  const { push, end } = pipe(createSequence(), encoder);
  return { push, end, keepAlive: (emit) => encoder.keepAlive(emit) };
}

/** Appends `event` to `events`. If it and the last event are deltas without log probabilities, joins the two. */
function join(events: AnswerEvent[], event: AnswerEvent): void {
  const last = events.at(-1);
  const isText = event.type === "block-delta" && event.logprobs === undefined;
  if (isText && last?.type === "block-delta" && last.logprobs === undefined) {
    events[events.length - 1] = { ...event, text: last.text + event.text };
  } else {
    events.push(event);
  }
}
