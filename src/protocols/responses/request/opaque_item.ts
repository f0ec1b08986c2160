import { lookup } from "../../../core/collections.ts";
import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { OpaqueBlock } from "../../canonical/content/block.ts";
import { unwrapSealed, wrapSealed } from "../../canonical/content/sealed.ts";
import type { Weight } from "../../canonical/content/extras.ts";
import type {
  CanonicalRequest,
  Role,
} from "../../canonical/request/request.ts";
import { textOf } from "../fields.ts";

/**
 * Compaction for upstreams of other protocols: an input that ends in `compaction_trigger` asks for one item
 * that stands for the conversation from then on. What OpenAI encrypts there is here a summary in an envelope.
 */

/** The `form` of a summary in its envelope. */
const SUMMARY_FORM = "summary";

/** What a model is told in place of a `compaction_trigger`. */
const COMPACTION_PROMPT =
  "The conversation is about to be cut off here. Write a summary with which another model can go on in your " +
  "place: what the user wants and has decided, what was done and found so far, what is left to do, and every " +
  "name, path and value that will be needed. Answer with the summary alone and call no tools.";

/** What a model reads in place of a compaction item that was given out here; `undefined` for any other. */
function summaryIn(item: JsonObject): string | undefined {
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

/** Items without which the model would not know what was said, or what is asked of it. */
const WEIGHT_BY_TYPE: Readonly<Record<string, Weight>> = {
  compaction: "reject",
  computer_call: "reject",
  computer_call_output: "reject",
  mcp_approval_request: "reject",
  mcp_approval_response: "reject",
  program: "reject",
  program_output: "reject",
};

/** Types of tools that the caller runs. */
const CALLERS_TYPES: readonly unknown[] = ["function", "custom", "namespace"];

/** How items are told to models that do not know them. */
const TEXT_BY_TYPE: Readonly<
  Record<string, (item: JsonObject) => string | undefined>
> = {
  mcp_call: mcpText,
  compaction: summaryIn,
  compaction_trigger: () => COMPACTION_PROMPT,
};

/** Items that speak for the caller; every other unknown one belongs to the model's turn. */
const ROLE_BY_TYPE: Readonly<Record<string, Role>> = {
  additional_tools: "developer",
  configuration_update: "developer",
  compaction: "user",
  compaction_trigger: "user",
  computer_call_output: "user",
  mcp_approval_response: "user",
};

/** An item that no other protocol knows, kept whole. */
export function opaqueItem(item: JsonObject): OpaqueBlock {
  const type = textOf(item.type) ?? "";
  return {
    kind: "opaque",
    protocol: "responses",
    type,
    value: item,
    text: lookup(TEXT_BY_TYPE, type)?.(item),
    weight: bringsOwnToolsOnly(item)
      ? "ignore"
      : lookup(WEIGHT_BY_TYPE, type) ?? "report",
  };
}

/** Whether all that the item says is told by the tools of the request. */
function bringsOwnToolsOnly({ type, tools }: JsonObject): boolean {
  return type === "additional_tools" && Array.isArray(tools) &&
    tools.every((tool) =>
      isJsonObject(tool) && CALLERS_TYPES.includes(tool.type)
    );
}

/** In whose turn an unknown item stands. */
export function roleOfItem(item: JsonObject): Role {
  return lookup(ROLE_BY_TYPE, textOf(item.type) ?? "") ?? "assistant";
}

/** A call and its result in one: the one item of an upstream's own tools whose result later turns rest on. */
function mcpText(item: JsonObject): string | undefined {
  const { name, arguments: callArguments, output, error } = item;
  const result = textOf(output) ??
    (isJsonObject(error) ? textOf(error.message) : textOf(error));
  if (result === undefined) return undefined;
  return `[${textOf(name) ?? "tool"}(${
    textOf(callArguments) ?? ""
  }) returned: ${result}]`;
}
