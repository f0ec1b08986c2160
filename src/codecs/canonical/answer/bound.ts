import { shortDigest } from "@gateway/base/sha256";
import type { Stage } from "@gateway/base/stage";
import { isToolCall } from "../content/block.ts";
import type { AnswerEvent } from "../stream/event.ts";
import { providerId } from "../tools/tool_call_id.ts";
import { type SealBinding, sealDigest } from "../content/sealed.ts";

/*
 * Some providers accept earlier reasoning only after the same prefix and after the same previous reasoning. With the
 * reasoning, the gateway stores digests of both, and compares these digests before it sends the reasoning again.
 */

/** Returns the digest of a prefix with one more piece. */
export function longerPrefix(prefix: string, piece: string): string {
  return shortDigest(`${prefix}\n${piece}`);
}

/** A text or a call that precedes reasoning in the same answer. */
type SaidBefore =
  | { readonly kind: "text"; readonly length: number }
  | { readonly kind: "call"; readonly id: string };

/** Returns the digest of a prefix followed by a text or a call of the same answer. */
export function prefixBehind(prefix: string, said: SaidBefore): string {
  // The digest covers only the length of a text, because counting takes no time in a stream. A changed length shows
  // that a caller has joined or cut texts.
  return longerPrefix(
    prefix,
    said.kind === "text" ? `text ${said.length}` : `call ${said.id}`,
  );
}

/**
 * Returns a stage that adds its binding to each sealed reasoning of an answer. `request` is the binding at the start of
 * the answer.
 */
export function bindReasoning(
  request: SealBinding,
): Stage<AnswerEvent, AnswerEvent> {
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
          const id = providerId(block.id);
          prefix = prefixBehind(prefix, { kind: "call", id });
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

/** Earlier reasoning of a request, and the prefix before it. */
export interface ReturningReasoning {
  /** The `sealDigest` of the reasoning. */
  readonly digest: string;
  /** The binding of the reasoning; `undefined` when the binding is unknown. */
  readonly bound: SealBinding | undefined;
  /** The digest of the prefix before the reasoning in the request. */
  readonly prefix: string;
}

/**
 * Returns the reasoning that a provider with prefix checks accepts. Each accepted block must have its original prefix
 * and directly precede the next accepted block. The search begins with the latest block, because early blocks may be
 * missing, but no block between two accepted blocks
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks).
 *
 * @param returning The earlier reasoning, in the order of the request.
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
