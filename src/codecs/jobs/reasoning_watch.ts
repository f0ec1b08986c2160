import {
  reasoningToRemember,
  type RememberedCall,
  type RememberedReasoning,
} from "../canonical/answer/remembered_reasoning.ts";
import {
  isToolCall,
  type MessageHead,
  type ReasoningPart,
} from "../canonical/content/block.ts";
import type { AnswerContext, CallerCodec } from "../canonical/codec.ts";
import type { Sealed } from "../canonical/content/sealed.ts";
import type { AnswerEvent } from "../canonical/stream/event.ts";

/** A reasoning block whose events are still arriving. */
interface ReasoningDraft {
  readonly kind: "reasoning";
  readonly parts: { readonly form: ReasoningPart["form"]; text: string }[];
  sealed?: Sealed;
}

/** A text whose events are still arriving. */
interface TextDraft {
  readonly kind: "text";
  length: number;
  readonly message: MessageHead | undefined;
}

/** A call without its arguments. */
type CallDraft = RememberedCall & { sealed?: Sealed };

type Draft = ReasoningDraft | TextDraft | CallDraft;

/**
 * Collects the reasoning that the upstream needs back with the results of its tool calls. The reasoning comes from the
 * events of an answer.
 */
interface ReasoningWatch {
  see(event: AnswerEvent): void;
  /** Returns the reasoning so far; `undefined` when there is nothing to keep. */
  reasoning(): RememberedReasoning | undefined;
}

/** Creates a watch for one answer. Only the connection that sent the answer may get the answer's reasoning again. */
export function createReasoningWatch(
  { createAnswerIds }: Pick<CallerCodec, "createAnswerIds">,
  { request, connectionId }: Pick<AnswerContext, "request" | "connectionId">,
): ReasoningWatch {
  const idFor = createAnswerIds?.(request) ?? ((id) => id);
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
      if (draft !== undefined) extend(draft, event, connectionId);
    },
    reasoning: () => reasoningToRemember([...drafts.values()]),
  };
}

function extend(draft: Draft, event: AnswerEvent, origin: string): void {
  if (draft.kind === "text") {
    if (event.type === "block-delta") draft.length += event.text.length;
    return;
  }
  if (event.type === "block-seal") draft.sealed = { ...event.sealed, origin };
  if (draft.kind !== "reasoning") return;
  const part = draft.parts.at(-1);
  if (event.type === "block-part") {
    draft.parts.push({ form: event.form, text: "" });
  } else if (event.type === "block-delta" && part !== undefined) {
    part.text += event.text;
  }
}
