import type {
  ReasoningBlock,
  ReasoningPart,
} from "../protocols/canonical/block.ts";
import type { AnswerEvent } from "../protocols/canonical/event.ts";
import { isToolCall } from "../protocols/canonical/history.ts";
import type { Sealed } from "../protocols/canonical/sealed.ts";

/** The reasoning of an answer, and the tool calls that it led to. */
export interface SealedAnswer {
  readonly blocks: readonly ReasoningBlock[];
  readonly callIds: readonly string[];
}

/** A reasoning block while its events come in. */
interface Draft {
  readonly parts: { readonly form: ReasoningPart["form"]; text: string }[];
  sealed?: Sealed;
}

/**
 * Gathers what has to come back with the results of an answer's tool calls, from the answer's events.
 *
 * @returns A watcher; `answer` is `undefined` when there is nothing to keep.
 */
export function createSealWatch(): {
  see(event: AnswerEvent): void;
  answer(): SealedAnswer | undefined;
} {
  const drafts = new Map<number, Draft>();
  const callIds: string[] = [];
  return {
    see(event) {
      if (event.type === "block-start") {
        const { block, index } = event;
        if (block.kind === "reasoning") drafts.set(index, { parts: [] });
        if (isToolCall(block) && "id" in block) callIds.push(block.id);
        return;
      }
      if (drafts.size === 0 || !("index" in event)) return;
      const draft = drafts.get(event.index);
      if (draft !== undefined) extend(draft, event);
    },
    answer() {
      const blocks = [...drafts.values()].map(({ parts, sealed }) =>
        ({ kind: "reasoning", parts, sealed }) as const
      );
      const isWorthKeeping = callIds.length > 0 &&
        blocks.some(({ sealed }) => sealed !== undefined);
      return isWorthKeeping ? { blocks, callIds } : undefined;
    },
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
