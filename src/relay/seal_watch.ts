import type { AnswerEvent } from "../protocols/canonical/event.ts";
import { isToolCall } from "../protocols/canonical/history.ts";
import type {
  ReasoningPart,
  ToolCallBlock,
} from "../protocols/canonical/block.ts";
import type { Sealed } from "../protocols/canonical/sealed.ts";
import { type Thoughts, thoughtsOf } from "../protocols/canonical/thoughts.ts";

/** A reasoning block while its events come in. */
interface Draft {
  readonly kind: "reasoning";
  readonly parts: { readonly form: ReasoningPart["form"]; text: string }[];
  sealed?: Sealed;
}

/** Gathers what has to come back with the results of an answer's tool calls, from the answer's events. */
export function createSealWatch(): {
  see(event: AnswerEvent): void;
  /** What has come so far; `undefined` when there is nothing to keep. */
  thoughts(): Thoughts | undefined;
} {
  const drafts = new Map<number, Draft>();
  /** Only their ids matter here, so what they are called with is left out. */
  const calls: ToolCallBlock[] = [];
  return {
    see(event) {
      if (event.type === "block-start") {
        const { block, index } = event;
        if (block.kind === "reasoning") {
          drafts.set(index, { kind: "reasoning", parts: [] });
        } else if (isToolCall(block)) {
          const { id, name } = block;
          calls.push({ kind: "function_call", id, name, arguments: "" });
        }
        return;
      }
      if (drafts.size === 0 || !("index" in event)) return;
      const draft = drafts.get(event.index);
      if (draft !== undefined) extend(draft, event);
    },
    thoughts: () => thoughtsOf({ blocks: [...drafts.values(), ...calls] }),
  };
}

function extend(draft: Draft, event: AnswerEvent): void {
  const part = draft.parts.at(-1);
  if (event.type === "block-part") {
    draft.parts.push({ form: event.form, text: "" });
  } else if (event.type === "block-delta" && part !== undefined) {
    part.text += event.text;
  } else if (event.type === "block-seal") {
    draft.sealed = event.sealed;
  }
}
