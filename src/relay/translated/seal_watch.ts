import type { AnswerEvent } from "../../protocols/canonical/stream/event.ts";
import { isToolCall } from "../../protocols/canonical/request/history.ts";
import type {
  MessageHead,
  ReasoningPart,
} from "../../protocols/canonical/answer/block.ts";
import type { Sealed } from "../../protocols/canonical/answer/sealed.ts";
import {
  type CallPiece,
  type Thoughts,
  thoughtsOf,
} from "../../protocols/canonical/answer/thoughts.ts";

/** A reasoning block while its events come in. */
interface ReasoningDraft {
  readonly kind: "reasoning";
  readonly parts: { readonly form: ReasoningPart["form"]; text: string }[];
  sealed?: Sealed;
}

/** A text while its events come in. */
interface TextDraft {
  readonly kind: "text";
  length: number;
  readonly message: MessageHead | undefined;
}

/** A call; what it is called with does not matter here. */
type CallDraft = CallPiece & { sealed?: Sealed };

type Draft = ReasoningDraft | TextDraft | CallDraft;

/** Gathers what has to come back with the results of an answer's tool calls, from the answer's events. */
export interface SealWatch {
  see(event: AnswerEvent): void;
  /** Returns what has come so far; `undefined` when there is nothing to keep. */
  thoughts(): Thoughts | undefined;
}

/**
 * Creates a watch for one answer.
 *
 * @param idFor How the caller will name a call, as a codec's `createAnswerIds` says.
 */
export function createSealWatch(
  idFor: (id: string) => string = (id) => id,
): SealWatch {
  const drafts = new Map<number, Draft>();
  return {
    see(event) {
      if (event.type === "block-start") {
        const { block, index } = event;
        if (block.kind === "reasoning") {
          drafts.set(index, { kind: "reasoning", parts: [] });
        } else if (isToolCall(block)) {
          drafts.set(index, { kind: "call", id: idFor(block.id) });
        } else if (block.kind === "text") {
          const { message } = block;
          drafts.set(index, { kind: "text", length: 0, message });
        }
        return;
      }
      if (drafts.size === 0 || !("index" in event)) return;
      const draft = drafts.get(event.index);
      if (draft !== undefined) extend(draft, event);
    },
    thoughts: () => thoughtsOf([...drafts.values()]),
  };
}

function extend(draft: Draft, event: AnswerEvent): void {
  if (draft.kind === "text") {
    if (event.type === "block-delta") draft.length += event.text.length;
    return;
  }
  if (event.type === "block-seal") draft.sealed = event.sealed;
  if (draft.kind !== "reasoning") return;
  const part = draft.parts.at(-1);
  if (event.type === "block-part") {
    draft.parts.push({ form: event.form, text: "" });
  } else if (event.type === "block-delta" && part !== undefined) {
    part.text += event.text;
  }
}
