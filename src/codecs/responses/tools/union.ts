import { toolKey } from "../../canonical/tools/bridge_tools.ts";
import type {
  CallableTool,
  NamespaceTool,
  Tool,
} from "../../canonical/tools/tool.ts";
import { ownMetadata, withMetadata } from "../fields.ts";

/**
 * Returns each tool once, at the place of its first declaration and in its newest form. The list of the request is
 * newer than the items of the history. Later items are newer than earlier items. Codex makes the list for each request
 * and repeats items unchanged. Parts of a namespace become one namespace, with the first description that is not empty.
 * Codex also joins parts within one list in this way.
 *
 * Sources: `merge_into_namespaces` (codex-rs/core/src/tools/spec_plan.rs) and `coalesce_loadable_tool_specs`
 * (codex-rs/tools/src/responses_api.rs) of https://github.com/openai/codex; parts in several items:
 * https://github.com/openai/codex/issues/44378
 *
 * @param tools The list of the request.
 * @param loaded The tools in items of the input. A flag marks these tools, because the encoder of this codec need not
 * declare them again.
 */
export function unionOfTools(
  tools: readonly Tool[],
  loaded: readonly Tool[],
): readonly Tool[] {
  const own = merge(tools);
  const ownKeys = new Set(own.flatMap(keysOf));
  const found = merge(loaded.map(flagLoaded)).flatMap((tool) =>
    withoutKnown(tool, ownKeys)
  );
  return merge([...own, ...found]);
}

/** Merges tools that have the same kind and the same name. The name alone does not identify a tool. */
function merge(tools: readonly Tool[]): readonly Tool[] {
  const merged = new Map<string, Tool>();
  for (const [index, tool] of tools.entries()) {
    const key = tool.kind === "hosted"
      ? `hosted ${index}`
      : `${tool.kind} ${tool.name}`;
    const before = merged.get(key);
    const areNamespaces = before?.kind === "namespace" &&
      tool.kind === "namespace";
    merged.set(key, areNamespaces ? mergeParts(before, tool) : tool);
  }
  return [...merged.values()];
}

function mergeParts(
  first: NamespaceTool,
  second: NamespaceTool,
): NamespaceTool {
  const inner = new Map<string, CallableTool>();
  for (const tool of [...first.tools, ...second.tools]) {
    inner.set(`${tool.kind} ${tool.name}`, tool);
  }
  const isDescribed = (first.description ?? "").trim() !== "";
  return {
    ...first,
    description: isDescribed ? first.description : second.description,
    tools: [...inner.values()],
    hosted: [...first.hosted ?? [], ...second.hosted ?? []],
  };
}

function keysOf(tool: Tool): string[] {
  switch (tool.kind) {
    case "hosted":
      return [tool.type];
    case "namespace":
      return tool.tools.map(({ name }) =>
        toolKey({ name, namespace: tool.name })
      );
    default:
      return [tool.name];
  }
}

/** Returns the parts of a tool in an item of the input that the list of the request does not contain. */
function withoutKnown(tool: Tool, known: ReadonlySet<string>): Tool[] {
  if (tool.kind !== "namespace") {
    return keysOf(tool).some((key) => known.has(key)) ? [] : [tool];
  }
  const tools = tool.tools.filter(({ name }) =>
    !known.has(toolKey({ name, namespace: tool.name }))
  );
  return tools.length === 0 && (tool.hosted ?? []).length === 0
    ? []
    : [{ ...tool, tools }];
}

function flagLoaded(tool: Tool): Tool {
  switch (tool.kind) {
    case "hosted":
      return { ...tool, providerMetadata: ownMetadata({ isLoaded: true }) };
    case "namespace":
      return {
        ...tool,
        tools: tool.tools.map(flagCallable),
        hosted: tool.hosted?.map((one) => ({
          ...one,
          providerMetadata: ownMetadata({ isLoaded: true }),
        })),
        providerMetadata: withMetadata(tool, { isLoaded: true }),
      };
    default:
      return flagCallable(tool);
  }
}

function flagCallable(tool: CallableTool): CallableTool {
  return { ...tool, providerMetadata: withMetadata(tool, { isLoaded: true }) };
}
