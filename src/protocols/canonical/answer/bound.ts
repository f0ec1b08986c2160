import { shortDigest } from "../../../core/sha256.ts";
import type { Stage } from "../../../core/stage.ts";
import { isToolCall } from "../content/block.ts";
import type { AnswerEvent } from "../stream/event.ts";
import { type Bound, sealDigest } from "../content/sealed.ts";

/*
 * Some providers take earlier reasoning back only behind what it was made behind, and behind the reasoning that came
 * before it. The gateway notes both as digests with the reasoning, and compares them before it sends that again.
 */

/** Returns the digest of a prefix that has one more piece. */
export function longerPrefix(prefix: string, piece: string): string {
  return shortDigest(`${prefix}\n${piece}`);
}

/** A text or a call of the answer in which reasoning stands, as a piece of what is before the reasoning. */
export type SaidBefore =
  | { readonly kind: "text"; readonly length: number }
  | { readonly kind: "call"; readonly id: string };

/** Returns the digest of a prefix to which the same answer has added a text or a call. */
export function prefixBehind(prefix: string, said: SaidBefore): string {
  // The length tells texts apart that a caller joins or cuts, and costs a stream nothing.
  return longerPrefix(
    prefix,
    said.kind === "text" ? `text ${said.length}` : `call ${said.id}`,
  );
}

/**
 * Returns a stage that notes with the sealed reasoning of an answer what it is bound to.
 *
 * @param request What the answer as a whole stands behind.
 */
export function bindReasoning(request: Bound): Stage<AnswerEvent, AnswerEvent> {
  const reasoning = new Set<number>();
  const texts = new Map<number, number>();
  let { prefix, after } = request;

  return {
    push(event, emit) {
      if (event.type === "block-start") {
        const { index, block } = event;
        if (block.kind === "reasoning") reasoning.add(index);
        else if (block.kind === "text") texts.set(index, 0);
        else if (isToolCall(block)) {
          prefix = prefixBehind(prefix, { kind: "call", id: block.id });
        } else prefix = longerPrefix(prefix, `lost ${block.kind}`);
      } else if (event.type === "block-delta") {
        const length = texts.get(event.index);
        if (length !== undefined) {
          texts.set(event.index, length + event.text.length);
        }
      } else if (event.type === "block-end") {
        const length = texts.get(event.index);
        texts.delete(event.index);
        if (length !== undefined) {
          prefix = prefixBehind(prefix, { kind: "text", length });
        }
      } else if (event.type === "block-seal" && reasoning.has(event.index)) {
        const bound = { prefix, after };
        after = sealDigest(event.sealed);
        return emit({ ...event, sealed: { ...event.sealed, bound } });
      }
      emit(event);
    },
    end() {},
  };
}

/** Reasoning that a request could carry, and where it would stand. */
export interface ReturningReasoning {
  /** Its `sealDigest`. */
  readonly digest: string;
  /** What it is bound to; `undefined` where that is not known. */
  readonly bound: Bound | undefined;
  /** What stands before it now. */
  readonly prefix: string;
}

/**
 * Returns the reasoning that a provider takes back which checks what it is bound to: what stands behind the same prefix
 * as then, from the latest back as long as each is what came before the next. Reasoning may be missing at the beginning,
 * never between (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks).
 *
 * @param returning In the order of the request.
 */
export function unbrokenRun<One extends ReturningReasoning>(
  returning: readonly One[],
): readonly One[] {
  const run: One[] = [];
  for (const one of returning.toReversed()) {
    const next = run[0];
    const isBefore = next === undefined || next.bound?.after === one.digest;
    if (isBefore && one.bound?.prefix === one.prefix) run.unshift(one);
  }
  return run;
}
