import { lookup, wordList } from "@gateway/base/collections";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { OpaqueBlock } from "../../canonical/content/block.ts";
import { unwrapSealed, wrapSealed } from "../../canonical/content/sealed.ts";
import type { Weight } from "../../canonical/content/extras.ts";
import type {
  CanonicalRequest,
  Role,
} from "../../canonical/request/request.ts";
import { textOf } from "../fields.ts";
import { searchIn } from "../tools/web_search.ts";

/**
 * The `form` of a sealed summary. An input that ends in `compaction_trigger` asks for one item that replaces the
 * conversation so far. OpenAI encrypts that item. For providers of other protocols, the gateway writes the item as a
 * summary in an envelope.
 */
const SUMMARY_FORM = "summary";

/** The instruction that replaces a `compaction_trigger`. */
const COMPACTION_PROMPT =
  "The conversation is about to be cut off here. Write a summary with which another model can go on in your " +
  "place: what the user wants and has decided, what was done and found so far, what is left to do, and every " +
  "name, path and value that will be needed. Answer with the summary alone and call no tools.";

/** Returns the text that replaces a compaction item that the gateway wrote. Returns `undefined` for any other item. */
export function summaryIn(item: JsonObject): string | undefined {
  const sealed = unwrapSealed(textOf(item.encrypted_content) ?? "");
  return sealed?.form === SUMMARY_FORM
    ? `Summary of the conversation so far:\n\n${sealed.value}`
    : undefined;
}

/** Returns the only item of an answer to a `compaction_trigger`. */
export function compactionItem(id: string, summary: string): JsonObject {
  const sealed = {
    protocol: "responses",
    form: SUMMARY_FORM,
    value: summary,
  } as const;
  return { id, type: "compaction", encrypted_content: wrapSealed(sealed) };
}

/** Returns true when the answer must be a compaction item. */
export function wantsCompaction(
  { turns }: Pick<CanonicalRequest, "turns">,
): boolean {
  const block = turns.at(-1)?.blocks.at(-1);
  return block?.kind === "opaque" && block.type === "compaction_trigger";
}

/** The weights of items without which a model would miss the task or a part of the conversation. */
const WEIGHT_BY_TYPE: Readonly<Record<string, Weight>> = {
  compaction: "reject",
  computer_call: "reject",
  computer_call_output: "reject",
  mcp_approval_request: "reject",
  mcp_approval_response: "reject",
  program: "reject",
  program_output: "reject",
};

/** The types of tools that the caller runs. */
const CALLER_TOOL_TYPES: readonly unknown[] = wordList(
  "function custom namespace",
);

/** The texts that replace items for models that do not support the items. */
const TEXT_BY_TYPE: Readonly<
  Record<string, (item: JsonObject) => string | undefined>
> = {
  mcp_call: mcpText,
  compaction: summaryIn,
  compaction_trigger: () => COMPACTION_PROMPT,
};

/** The roles of items that belong to a turn of the caller. All other unknown items belong to the model's turn. */
const ROLE_BY_TYPE: Readonly<Record<string, Role>> = {
  additional_tools: "developer",
  configuration_update: "developer",
  compaction: "user",
  compaction_trigger: "user",
  computer_call_output: "user",
  mcp_approval_response: "user",
};

/** Returns an item that no other protocol has, as a block that keeps the item unchanged. */
export function opaqueItem(item: JsonObject): OpaqueBlock {
  const type = textOf(item.type) ?? "";
  return {
    kind: "opaque",
    protocol: "responses",
    type,
    value: item,
    text: lookup(TEXT_BY_TYPE, type)?.(item),
    search: searchIn(item),
    weight: hasOnlyCallerTools(item)
      ? "ignore"
      : lookup(WEIGHT_BY_TYPE, type) ?? "report",
  };
}

/**
 * Returns an item of the history as a block. Of a search, a model of another protocol reads the query, but not the
 * results.
 */
export function historyItem(item: JsonObject): OpaqueBlock {
  const block = opaqueItem(item);
  const { search } = block;
  return search === undefined
    ? block
    : { ...block, text: `[searched the web for: ${search.query}]` };
}

/**
 * Returns true when the item holds only tools that the caller runs. The tools of the request already include these
 * tools.
 */
function hasOnlyCallerTools({ type, tools }: JsonObject): boolean {
  return type === "additional_tools" && Array.isArray(tools) &&
    tools.every((tool) =>
      isJsonObject(tool) && CALLER_TOOL_TYPES.includes(tool.type)
    );
}

/** Returns the role of the turn to which an unknown item belongs. */
export function roleOfItem(item: JsonObject): Role {
  return lookup(ROLE_BY_TYPE, textOf(item.type) ?? "") ?? "assistant";
}

/** Returns an MCP call and its result as text. MCP is the only hosted tool whose result later turns need. */
function mcpText(item: JsonObject): string | undefined {
  const { name, arguments: callArguments, output, error } = item;
  const result = textOf(output) ??
    (isJsonObject(error) ? textOf(error.message) : textOf(error));
  if (result === undefined) return undefined;
  return `[${textOf(name) ?? "tool"}(${
    textOf(callArguments) ?? ""
  }) returned: ${result}]`;
}
