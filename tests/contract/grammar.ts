import type { Stage } from "../../src/base/stage.ts";
import type {
  AnswerEvent,
  BlockHead,
} from "../../src/codecs/canonical/stream/event.ts";

/** Thrown for the first event that breaks the grammar of {@linkcode AnswerEvent}. */
export class GrammarError extends Error {
  override readonly name = "GrammarError";
}

/** The state of an open block. */
interface OpenBlock {
  readonly kind: BlockHead["kind"];
  parts: number;
  sealed: boolean;
}

/**
 * Passes events on unchanged and checks their order.
 *
 * @throws {GrammarError} From `push` and `end`, at the first event out of order.
 */
export function createGrammar(): Stage<AnswerEvent, AnswerEvent> {
  const open = new Map<number, OpenBlock>();
  let started = false;
  let over = false;
  let nextIndex = 0;

  function block(event: { type: string; index: number }): OpenBlock {
    const found = open.get(event.index);
    if (found === undefined) {
      throw new GrammarError(
        `${event.type} for block ${event.index}, which is not open`,
      );
    }
    return found;
  }

  function check(event: AnswerEvent): void {
    if (over) throw new GrammarError(`${event.type} after the last event`);
    if (event.type === "failure") {
      over = true;
      return;
    }
    if (started === (event.type === "start")) {
      throw new GrammarError(
        started ? "A second start" : `${event.type} before start`,
      );
    }
    switch (event.type) {
      case "start":
        started = true;
        break;
      case "block-start":
        if (event.index !== nextIndex) {
          throw new GrammarError(
            `block-start ${event.index} where ${nextIndex} is next`,
          );
        }
        nextIndex++;
        open.set(event.index, {
          kind: event.block.kind,
          parts: 0,
          sealed: false,
        });
        break;
      case "block-part":
        demand(block(event), event, ["reasoning"]);
        block(event).parts++;
        break;
      case "block-delta":
        checkDelta(block(event), event);
        break;
      case "block-citation":
        demand(block(event), event, ["text"]);
        break;
      case "block-seal":
        demand(block(event), event, [
          "reasoning",
          "function_call",
          "custom_call",
        ]);
        if (block(event).sealed) {
          throw new GrammarError(`A second seal on block ${event.index}`);
        }
        block(event).sealed = true;
        break;
      case "block-end":
        block(event);
        open.delete(event.index);
        break;
      case "end":
        if (open.size > 0) throw new GrammarError("end while a block is open");
        over = true;
        break;
    }
  }

  return {
    push(event, emit) {
      check(event);
      emit(event);
    },
    end() {
      if (!over) {
        throw new GrammarError("The stream ends without end or failure");
      }
    },
  };
}

function checkDelta(
  block: OpenBlock,
  event: { type: string; index: number; text: string },
): void {
  if (event.text === "") {
    throw new GrammarError(`An empty delta on block ${event.index}`);
  }
  if (block.kind === "opaque") {
    throw new GrammarError(`A delta on the opaque block ${event.index}`);
  }
  if (block.kind === "reasoning" && block.parts === 0) {
    throw new GrammarError(
      `A delta before the first part of block ${event.index}`,
    );
  }
}

function demand(
  block: OpenBlock,
  event: { type: string; index: number },
  kinds: readonly BlockHead["kind"][],
): void {
  if (kinds.includes(block.kind)) return;
  throw new GrammarError(
    `${event.type} on block ${event.index}, which is ${block.kind}`,
  );
}
