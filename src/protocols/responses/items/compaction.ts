import type { JsonObject } from "../../../core/json.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { unwrapSealed, wrapSealed } from "../../canonical/answer/sealed.ts";
import { textOf } from "../fields.ts";

/**
 * Compaction for upstreams of other protocols: an input that ends in `compaction_trigger` asks for one item
 * that stands for the conversation from then on. What OpenAI encrypts there is here a summary in an envelope.
 */

/** The `form` of a summary in its envelope. */
const SUMMARY_FORM = "summary";

/** What a model is told in place of a `compaction_trigger`. */
export const COMPACTION_PROMPT =
  "The conversation is about to be cut off here. Write a summary with which another model can go on in your " +
  "place: what the user wants and has decided, what was done and found so far, what is left to do, and every " +
  "name, path and value that will be needed. Answer with the summary alone and call no tools.";

/** What a model reads in place of a compaction item that was given out here; `undefined` for any other. */
export function summaryIn(item: JsonObject): string | undefined {
  const sealed = unwrapSealed(textOf(item.encrypted_content) ?? "");
  return sealed?.form === SUMMARY_FORM
    ? `Summary of the conversation so far:\n\n${sealed.value}`
    : undefined;
}

/** The one item of an answer to a `compaction_trigger`. */
export function compactionItem(id: string, summary: string): JsonObject {
  const sealed = {
    protocol: "responses",
    form: SUMMARY_FORM,
    value: summary,
  } as const;
  return { id, type: "compaction", encrypted_content: wrapSealed(sealed) };
}

/** Whether the answer is to be a compaction item. */
export function wantsCompaction(
  { turns }: Pick<CanonicalRequest, "turns">,
): boolean {
  const block = turns.at(-1)?.blocks.at(-1);
  return block?.kind === "opaque" && block.type === "compaction_trigger";
}
