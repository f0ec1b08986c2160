import type { Emit, Stage } from "@gateway/base/stage";
import { MAX_HELD_CHARACTERS } from "../max_sizes.ts";
import type { AnswerEvent, BlockStartEvent } from "../stream/event.ts";
import { isGoodEnd } from "./answer.ts";

const TAGS = ["<think>", "<thinking>", "<thought>", "<reasoning>"];

/**
 * The most deltas that are held back before an opening tag, and the most spaces before a closing tag. There is a limit
 * because some models repeat spaces endlessly.
 */
const MAX_SPACES = 64;

/**
 * Returns a stage that converts a `<think>…</think>` at the start of the first block to reasoning. All other tags stay
 * text. If the tag is never closed, the whole block is reasoning. If such an answer ends well, its text is also emitted
 * as a text block, because many clients show no reasoning.
 */
export function readTaggedReasoning(): Stage<AnswerEvent, AnswerEvent> {
  let head: BlockStartEvent | undefined;
  const held: AnswerEvent[] = [];
  let text = "";
  /** The awaited closing tag: `undefined` before the opening tag, and empty after the closing tag. */
  let closing: string | undefined;
  /** The blocks of reasoning before the text: 0 or 1. */
  let shift = 0;
  let isOver = false;
  /** The whole text while its tag is open. */
  let whole = "";

  function pass(events: readonly AnswerEvent[], emit: Emit<AnswerEvent>) {
    isOver = true;
    for (const one of events) {
      emit("index" in one ? { ...one, index: one.index + shift } : one);
    }
  }

  function think(index: number, more: string, emit: Emit<AnswerEvent>) {
    if (more === "") return;
    if (shift === 0) {
      emit({ type: "block-start", index, block: { kind: "reasoning" } });
      emit({ type: "block-part", index, form: "raw" });
    }
    shift = 1;
    emit({ type: "block-delta", index, text: more });
  }

  function close(index: number, rest: string, emit: Emit<AnswerEvent>) {
    think(index, rest.trimEnd(), emit);
    if (shift > 0) emit({ type: "block-end", index });
    closing = "";
  }

  function read(head: BlockStartEvent, emit: Emit<AnswerEvent>) {
    const { index } = head;
    if (shift === 0 || closing === "") text = text.trimStart();
    if (closing === undefined) {
      const tag = TAGS.find((one) => text.startsWith(one));
      if (tag === undefined) {
        const mayBegin = held.length <= MAX_SPACES &&
          TAGS.some((one) => one.startsWith(text));
        return mayBegin ? undefined : pass([head, ...held], emit);
      }
      closing = tag.replace("<", "</");
      text = text.slice(tag.length).trimStart();
    }
    if (closing !== "") {
      const at = text.indexOf(closing);
      // The closing tag may arrive in pieces, and the space before it is not reasoning.
      const open = text.slice(0, at < 0 ? 1 - closing.length : at);
      const isLong = at < 0 && open.length > MAX_SPACES &&
        open.slice(-MAX_SPACES).trim() === "";
      const ready = isLong ? open : open.trimEnd();
      const rest = text.slice(at < 0 ? ready.length : at + closing.length);
      text = at < 0 ? rest : rest.trimStart();
      if (at < 0) return think(index, ready, emit);
      close(index, ready, emit);
    }
    if (text !== "") pass([head, { type: "block-delta", index, text }], emit);
  }

  /** Emits the text of an unclosed tag again, as a text block after the reasoning. */
  function repeat(head: BlockStartEvent, emit: Emit<AnswerEvent>) {
    const index = head.index + 1;
    emit({ ...head, index });
    emit({ type: "block-delta", index, text: whole });
    emit({ type: "block-end", index });
  }

  return {
    push(event, emit) {
      if (isOver) {
        if (event.type === "block-start" || closing !== "") whole = "";
        const isText = whole !== "" && whole.length <= MAX_HELD_CHARACTERS;
        if (isText && head && event.type === "end" && isGoodEnd(event.stop)) {
          repeat(head, emit);
        }
        return pass([event], emit);
      }
      if (head === undefined) {
        if (event.type !== "block-start") return emit(event);
        if (event.block.kind !== "text") return pass([event], emit);
        head = event;
      } else if (event.type === "block-delta" && event.index === head.index) {
        if (closing === undefined) held.push(event);
        text += event.text;
        if (whole.length <= MAX_HELD_CHARACTERS) whole += event.text;
        read(head, emit);
        if (closing === "") whole = "";
      } else if (closing === undefined) pass([head, ...held, event], emit);
      else {
        if (closing !== "") close(head.index, text, emit);
        // Without a text after the reasoning, the next block gets the index that the text would have.
        const isAlone = event.type === "block-end" && shift > 0;
        if (isAlone) shift = 0;
        else whole = "";
        pass(isAlone ? [] : [head, event], emit);
      }
    },
    end() {},
  };
}
