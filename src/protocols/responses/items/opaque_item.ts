import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import { lookup } from "../../../core/collections/lookup.ts";
import type { OpaqueBlock } from "../../canonical/answer/block.ts";
import type { Role } from "../../canonical/request/request.ts";
import type { Weight } from "../../canonical/request/extras.ts";
import { COMPACTION_PROMPT, summaryIn } from "./compaction.ts";
import { textOf } from "../fields.ts";

/** Items without which the model would not know what was said, or what is asked of it. */
const WEIGHT_BY_TYPE: Readonly<Record<string, Weight>> = {
  compaction: "answer",
  computer_call: "answer",
  computer_call_output: "answer",
  mcp_approval_request: "answer",
  mcp_approval_response: "answer",
  program: "answer",
  program_output: "answer",
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
      ? "silent"
      : lookup(WEIGHT_BY_TYPE, type) ?? "hint",
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
