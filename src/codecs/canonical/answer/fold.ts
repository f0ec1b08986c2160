import type { Emit } from "@gateway/base/stage";
import type { Answer } from "./answer.ts";
import type {
  AnswerBlock,
  Citation,
  ReasoningPart,
  TokenLogprob,
} from "../content/block.ts";
import type {
  AnswerEvent,
  BlockHead,
  EndEvent,
  StartEvent,
} from "../stream/event.ts";
import { brokenAnswer, tooLong, UpstreamFailure } from "../failure/failure.ts";
import { MAX_HELD_CHARACTERS } from "../max_sizes.ts";
import type { Sealed } from "../content/sealed.ts";

/** Collects the events of one answer. */
interface Fold {
  /**
   * Takes the next event, in the grammar of {@linkcode AnswerEvent}.
   *
   * @throws {UpstreamFailure} On a `failure` event, and when the answer is longer than the gateway can hold.
   */
  push(event: AnswerEvent): void;
  /** Returns the answer; throws an {@linkcode UpstreamFailure} when there was no `end` event. */
  answer(): Answer;
}

/** A block whose events are still arriving. */
interface Draft {
  readonly head: BlockHead;
  text: string;
  readonly parts: { form: ReasoningPart["form"]; text: string }[];
  readonly citations: Citation[];
  readonly logprobs: TokenLogprob[];
  sealed: Sealed | undefined;
}

/**
 * Returns an empty fold.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const fold = createFold();
 * fold.push({ type: "start", id: "a", model: "glm-5.1" });
 * fold.push({ type: "block-start", index: 0, block: { kind: "text" } });
 * fold.push({ type: "block-delta", index: 0, text: "Hel" });
 * fold.push({ type: "block-delta", index: 0, text: "lo" });
 * fold.push({ type: "block-end", index: 0 });
 * fold.push({ type: "end", stop: { reason: "end" } });
 * const [block] = fold.answer().blocks;
 * assert.ok(block?.kind === "text");
 * assert.equal(block.text, "Hello");
 * ```
 */
export function createFold(): Fold {
  const drafts: Draft[] = [];
  let start: StartEvent | undefined;
  let end: EndEvent | undefined;
  let held = 0;

  function append(draft: Draft | undefined, text: string): void {
    if (draft === undefined) return;
    held += text.length;
    if (held > MAX_HELD_CHARACTERS) throw tooLong();
    const part = draft.parts.at(-1);
    if (part === undefined) draft.text += text;
    else part.text += text;
  }

  return {
    push(event) {
      switch (event.type) {
        case "start":
          start = event;
          break;
        case "block-start":
          drafts.push(createDraft(event.block));
          break;
        case "block-part":
          drafts[event.index]?.parts.push({ form: event.form, text: "" });
          break;
        case "block-delta":
          append(drafts[event.index], event.text);
          for (const one of event.logprobs ?? []) {
            drafts[event.index]?.logprobs.push(one);
          }
          break;
        case "block-citation":
          drafts[event.index]?.citations.push(event.citation);
          break;
        case "block-seal":
          setSealed(drafts[event.index], event.sealed);
          break;
        case "block-end":
          break;
        case "end":
          end = event;
          break;
        case "failure":
          throw new UpstreamFailure(event.failure);
      }
    },
    answer() {
      if (start === undefined || end === undefined) {
        throw new UpstreamFailure(
          brokenAnswer("The provider's answer is incomplete"),
        );
      }
      const reasoningDropped = end.reasoningDropped ?? start.reasoningDropped;
      return {
        id: start.id,
        model: start.model,
        createdAtMs: start.createdAtMs,
        blocks: drafts.map(finishDraft),
        stop: end.stop,
        usage: end.usage,
        serviceTier: end.serviceTier,
        ...(reasoningDropped === undefined ? {} : { reasoningDropped }),
        providerMetadata: end.providerMetadata,
      };
    },
  };
}

/** Returns the answer of events; throws an {@linkcode UpstreamFailure} for a failure or a missing end. */
export function foldAnswer(events: Iterable<AnswerEvent>): Answer {
  const fold = createFold();
  for (const event of events) fold.push(event);
  return fold.answer();
}

/** Emits `answer` as the shortest stream of events: one block after the other, with one delta for each text. */
export function unfoldAnswer(answer: Answer, emit: Emit<AnswerEvent>): void {
  const { id, model, createdAtMs, usage, stop, serviceTier, providerMetadata } =
    answer;
  const { reasoningDropped } = answer;
  emit({
    type: "start",
    id,
    model,
    createdAtMs,
    usage,
    ...(reasoningDropped === undefined ? {} : { reasoningDropped }),
  });
  answer.blocks.forEach((block, index) => unfoldBlock(block, index, emit));
  emit({ type: "end", stop, usage, serviceTier, providerMetadata });
}

function createDraft(head: BlockHead): Draft {
  return {
    head,
    text: "",
    parts: [],
    citations: [],
    logprobs: [],
    sealed: undefined,
  };
}

function setSealed(draft: Draft | undefined, sealed: Sealed): void {
  if (draft !== undefined) draft.sealed = sealed;
}

function finishDraft(draft: Draft): AnswerBlock {
  const { head, text, parts, citations, logprobs, sealed } = draft;
  switch (head.kind) {
    case "text":
      return {
        kind: "text",
        text,
        citations: citations.length > 0 ? citations : undefined,
        message: head.message,
        ...(logprobs.length > 0 ? { logprobs } : {}),
        providerMetadata: head.providerMetadata,
      };
    case "refusal":
      return {
        kind: "refusal",
        text,
        message: head.message,
        providerMetadata: head.providerMetadata,
      };
    case "reasoning":
      return {
        kind: "reasoning",
        parts,
        sealed,
        providerMetadata: head.providerMetadata,
      };
    case "function_call":
      return { ...head, arguments: text, sealed };
    case "custom_call":
      return { ...head, input: text, sealed };
    case "opaque":
      return head;
  }
}

function unfoldBlock(
  block: AnswerBlock,
  index: number,
  emit: Emit<AnswerEvent>,
): void {
  emit({ type: "block-start", index, block: headOf(block) });
  const delta = (text: string) => {
    if (text !== "") emit({ type: "block-delta", index, text });
  };
  const seal = (sealed: Sealed | undefined) => {
    if (sealed !== undefined) emit({ type: "block-seal", index, sealed });
  };
  switch (block.kind) {
    case "text":
      if (block.logprobs === undefined) delta(block.text);
      else {
        const { text, logprobs } = block;
        emit({ type: "block-delta", index, text, logprobs });
      }
      for (const citation of block.citations ?? []) {
        emit({ type: "block-citation", index, citation });
      }
      break;
    case "refusal":
      delta(block.text);
      break;
    case "reasoning":
      for (const { form, text } of block.parts) {
        emit({ type: "block-part", index, form });
        delta(text);
      }
      seal(block.sealed);
      break;
    case "function_call":
      delta(block.arguments);
      seal(block.sealed);
      break;
    case "custom_call":
      delta(block.input);
      seal(block.sealed);
      break;
    case "opaque":
      break;
  }
  emit({ type: "block-end", index });
}

function headOf(block: AnswerBlock): BlockHead {
  switch (block.kind) {
    case "opaque":
      return block;
    case "function_call": {
      const { arguments: _arguments, sealed: _sealed, ...head } = block;
      return head;
    }
    case "custom_call": {
      const { input: _input, sealed: _sealed, ...head } = block;
      return head;
    }
    case "reasoning":
      return { kind: block.kind, providerMetadata: block.providerMetadata };
    default: {
      const { kind, message, providerMetadata } = block;
      return { kind, message, providerMetadata };
    }
  }
}
