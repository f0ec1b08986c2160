import type { Ids } from "../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import type { AnswerEvent, BlockHead } from "../canonical/event.ts";
import { MAX_BLOCKS } from "../canonical/limits.ts";
import { argumentsText } from "../canonical/tool_arguments.ts";

/** Gathers the pieces of an answer's tool calls into blocks. */
export interface ToolCallTracker {
  /** Takes one entry of a chunk's `tool_calls`. */
  push(entry: JsonObject, emit: Emit<AnswerEvent>): void;
  /** Starts what has a name but no arguments, and closes every block. Calls without a name are dropped. */
  finish(emit: Emit<AnswerEvent>): void;
  /** How many calls there are, begun or not; past `MAX_BLOCKS` no more are taken. */
  readonly count: number;
  /** Whether there is a call that became a block. */
  readonly hasBegun: boolean;
  /** Characters of arguments that wait for a name. */
  readonly held: number;
}

/** A call while its pieces come in. */
interface Slot {
  readonly index: number | undefined;
  /** Empty until the upstream gives one. */
  id: string;
  name: string;
  isCustom: boolean;
  extra: JsonValue | undefined;
  /** Of its block, once that has begun. */
  block: number | undefined;
  /** Arguments that came before the block could begin. */
  waiting: string;
}

/** What a tracker needs from the decoder around it. */
export interface ToolCallTrackerOptions {
  /** For calls that come without an id. */
  readonly ids: Ids;
  /** Opens a block and gives its index; `undefined` when there are too many. */
  open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined;
}

/**
 * A tracker for one answer. Pieces are matched by id and by index, since providers send either wrong: the same
 * index for every call, no index, an id on every piece, an empty id, none at all. A block begins when the name is
 * whole, that is with the first arguments, because names come split or repeated.
 */
export function createToolCallTracker(
  options: ToolCallTrackerOptions,
): ToolCallTracker {
  const slots: Slot[] = [];
  let held = 0;

  function slotOf(index: number | undefined, id: string, name: string): Slot {
    const found = findSlot(slots, { index, id, name });
    if (found !== undefined) return found;
    const slot: Slot = {
      index,
      id,
      name: "",
      isCustom: false,
      extra: undefined,
      block: undefined,
      waiting: "",
    };
    slots.push(slot);
    return slot;
  }

  function begin(slot: Slot, emit: Emit<AnswerEvent>): void {
    if (slot.id === "") slot.id = options.ids.next("call");
    const kind = slot.isCustom ? "custom_call" : "function_call";
    const marks = slot.extra === undefined
      ? undefined
      : { chat: { extra_content: slot.extra } };
    slot.block = options.open(
      { kind, id: slot.id, name: slot.name, marks },
      emit,
    );
    const text = slot.waiting;
    slot.waiting = "";
    held -= text.length;
    give(slot, text, emit);
  }

  function give(slot: Slot, text: string, emit: Emit<AnswerEvent>): void {
    if (text === "" || slot.block === undefined) return;
    emit({ type: "block-delta", index: slot.block, text });
  }

  return {
    push(entry, emit) {
      if (slots.length > MAX_BLOCKS) return;
      const shape = shapeOf(entry);
      const name = typeof shape.name === "string" ? shape.name : "";
      const index = typeof entry.index === "number" ? entry.index : undefined;
      const slot = slotOf(
        index,
        typeof entry.id === "string" ? entry.id : "",
        name,
      );
      if (slot.id === "" && typeof entry.id === "string") slot.id = entry.id;
      slot.isCustom ||= entry.type === "custom";
      slot.extra ??= entry.extra_content;
      if (slot.block === undefined && name !== slot.name) slot.name += name;
      const text = textOf(shape);
      if (slot.block !== undefined) return give(slot, text, emit);
      slot.waiting += text;
      held += text.length;
      if (slot.name !== "" && slot.waiting !== "") begin(slot, emit);
    },
    finish(emit) {
      for (const slot of slots) {
        if (slot.block === undefined && slot.name !== "") begin(slot, emit);
        if (slot.block !== undefined) {
          emit({ type: "block-end", index: slot.block });
        }
      }
    },
    get count() {
      return slots.length;
    },
    get hasBegun() {
      return slots.some((slot) => slot.block !== undefined);
    },
    get held() {
      return held;
    },
  };
}

/** The call that a piece belongs to; `undefined` when it begins a new one. */
function findSlot(
  slots: readonly Slot[],
  piece: { index: number | undefined; id: string; name: string },
): Slot | undefined {
  const { index, id, name } = piece;
  if (id !== "") {
    const same = slots.findLast((slot) =>
      slot.id === id && (index === undefined || slot.index === index)
    );
    if (same !== undefined) return same;
    // The id of a call whose first piece had none.
    return slots.findLast((slot) =>
      slot.index === index && slot.id === "" && name === ""
    );
  }
  const last = index === undefined
    ? slots.at(-1)
    : slots.findLast((slot) => slot.index === index);
  const isAnother = last?.block !== undefined && name !== "" &&
    name !== last.name;
  const isNextWithoutIndex = index === undefined && name !== "";
  return isAnother || isNextWithoutIndex ? undefined : last;
}

function shapeOf(entry: JsonObject): JsonObject {
  if (isJsonObject(entry.function)) return entry.function;
  return isJsonObject(entry.custom) ? entry.custom : {};
}

/** Arguments are text; some providers send the object, or null. */
function textOf(shape: JsonObject): string {
  const value = shape.arguments ?? shape.input;
  return typeof value === "string" ? value : argumentsText(value);
}
