import { toolKey } from "../../canonical/tools/bridge_tools.ts";
import type {
  CallableTool,
  NamespaceTool,
  Tool,
} from "../../canonical/tools/tool.ts";
import { markOwn, withMarks } from "../fields.ts";

/**
 * Returns each tool once, at the place of its first declaration and as its newest one says. The list of the request
 * is newer than the items of its history, and of these a later one is newer than an earlier one: Codex makes the list
 * for each request and repeats items as they were. Parts of a namespace are one namespace, described as the first part
 * that says anything describes it: Codex does the same within one list.
 *
 * Sources: `merge_into_namespaces` (codex-rs/core/src/tools/spec_plan.rs) and `coalesce_loadable_tool_specs`
 * (codex-rs/tools/src/responses_api.rs) of https://github.com/openai/codex; parts that come in several items:
 * https://github.com/openai/codex/issues/44378
 *
 * @param tools The list of the request.
 * @param loaded What items of the input bring. The items themselves declare it to this codec's own upstreams, so it is
 * marked.
 */
export function unionOfTools(
  tools: readonly Tool[],
  loaded: readonly Tool[],
): readonly Tool[] {
  const own = merge(tools);
  const ownKeys = new Set(own.flatMap(keysOf));
  const found = merge(loaded.map(markLoaded)).flatMap((tool) =>
    withoutKnown(tool, ownKeys)
  );
  return merge([...own, ...found]);
}

/** Tools of one name that differ in kind stay apart within a list; nobody could say which of them is meant. */
function merge(tools: readonly Tool[]): readonly Tool[] {
  const merged = new Map<string, Tool>();
  for (const [index, tool] of tools.entries()) {
    const key = tool.kind === "hosted"
      ? `hosted ${index}`
      : `${tool.kind} ${tool.name}`;
    const before = merged.get(key);
    const isMore = before?.kind === "namespace" && tool.kind === "namespace";
    merged.set(key, isMore ? mergeParts(before, tool) : tool);
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

/** What is left of a tool from an item beside those that the request itself lists. */
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

function markLoaded(tool: Tool): Tool {
  switch (tool.kind) {
    case "hosted":
      return { ...tool, providerMetadata: markOwn({ isLoaded: true }) };
    case "namespace":
      return {
        ...tool,
        tools: tool.tools.map(markCallable),
        hosted: tool.hosted?.map((one) => ({
          ...one,
          providerMetadata: markOwn({ isLoaded: true }),
        })),
        providerMetadata: withMarks(tool, { isLoaded: true }),
      };
    default:
      return markCallable(tool);
  }
}

function markCallable(tool: CallableTool): CallableTool {
  return { ...tool, providerMetadata: withMarks(tool, { isLoaded: true }) };
}
