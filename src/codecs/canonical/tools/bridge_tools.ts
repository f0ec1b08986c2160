import { GatewayError } from "@gateway/base/error";
import type { Block, FunctionCallBlock } from "../content/block.ts";
import type { Target, ToolSupport } from "../codec.ts";
import type { CanonicalRequest, Turn } from "../request/request.ts";
import {
  argumentsObject,
  type CallableTool,
  type CustomTool,
  type FunctionTool,
  type NamespaceTool,
  parseArguments,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from "./tool.ts";
import {
  type PropertyNames,
  renameArguments,
  type RenamedArguments,
  withNames,
} from "./property_names.ts";
import { fitId } from "./tool_call_id.ts";

interface ToolAlias extends ToolReference {
  /** The caller's names of arguments by the sent names; absent when no argument was renamed. */
  readonly propertyNames?: PropertyNames | undefined;
}

/** The caller's tools by the {@linkcode toolKey} of the tools sent in their place. Tools sent unchanged are absent. */
export type ToolAliases = ReadonlyMap<string, ToolAlias>;

/** The tools that the target supports, and the arguments of the caller's tools that are renamed for the target. */
interface Bridging extends ToolSupport {
  /** The renamed arguments of tools, by {@linkcode toolKey}. The target rejects their original names. */
  readonly renamed: ReadonlyMap<string, RenamedArguments>;
  readonly note: (field: "messages" | "tools") => void;
}

/** A request whose tools the target's encoder can write, and the aliases that restore the caller's tools. */
interface BridgedRequest {
  readonly request: CanonicalRequest;
  /** For `restoreTools`. */
  readonly aliases: ToolAliases;
}

/** The one argument of a function that replaces a custom tool. */
export const CUSTOM_INPUT_KEY = "input";

/** Returns the key of a tool: its namespace and its name, separated by `/`, because no sent name contains a `/`. */
export function toolKey(
  tool: { name: string; namespace?: string | undefined },
): string {
  return tool.namespace === undefined
    ? tool.name
    : `${tool.namespace}/${tool.name}`;
}

/**
 * Replaces tools that a target does not support, and their calls in the history. Tools in namespaces become
 * `namespace__name`. Custom tools become functions with one string `input`. Names that are too long or not legal are
 * cut and hashed. The same applies to names of arguments. Hosted tools stay, because the encoder reports their loss. If
 * several tools have the same name, only the first tool stays, because providers refuse duplicates.
 *
 * @param note Called with `messages` for each call whose arguments were not one JSON object, and with `tools` for a
 * tool that differs from an earlier tool with the same name.
 * @throws {GatewayError} `invalid_request` when two tools would get the same name.
 */
export function bridgeTools(
  request: CanonicalRequest,
  targetSupport: ToolSupport,
  note: Bridging["note"] = () => {},
): BridgedRequest {
  const support: Bridging = {
    ...targetSupport,
    note,
    renamed: renameTools(request.tools, targetSupport),
  };
  const owners = claimNames(request.tools, support);
  const aliases = new Map<string, ToolAlias>();
  for (const [key, owner] of owners) {
    const propertyNames = support.renamed.get(toolKey(owner))?.originals;
    if (propertyNames !== undefined) {
      aliases.set(key, { ...owner, propertyNames });
    } else if (!isSame(sentTool(owner, support), owner)) {
      aliases.set(key, owner);
    }
  }
  return {
    aliases,
    request: {
      ...request,
      tools: distinct(
        request.tools.flatMap((tool) => bridgeTool(tool, support)),
        note,
      ),
      toolChoice: bridgeChoice(request.toolChoice, support),
      turns: request.turns.map((turn) => bridgeTurn(turn, support)),
    },
  };
}

function distinct(
  tools: readonly Tool[],
  note: Bridging["note"],
): readonly Tool[] {
  const first = new Map<string, Tool>();
  return tools.filter((tool) => {
    if (tool.kind === "hosted" || tool.kind === "namespace") return true;
    const known = first.get(tool.name);
    if (known === undefined) first.set(tool.name, tool);
    else if (JSON.stringify(known) !== JSON.stringify(tool)) note("tools");
    return known === undefined;
  });
}

/** Returns the error for more tools than the target takes; `undefined` when the target takes `count` tools. */
export function tooManyTools(
  count: number,
  { maxTools = Infinity }: ToolSupport,
  { service }: Pick<Target, "service">,
): GatewayError | undefined {
  return count <= maxTools ? undefined : new GatewayError(
    "invalid_request",
    `Cannot send ${count} tools to this model: its provider (${service}) takes at most ${maxTools}. Send fewer tools, or choose another model.`,
    { param: "tools", code: "too_many_tools" },
  );
}

/** Returns the reference under which a tool of the caller is sent. The same input gives the same output. */
function sentTool(tool: ToolReference, support: ToolSupport): ToolReference {
  const { kind, name, namespace } = tool;
  const flat = support.namespaces || namespace === undefined
    ? name
    : `${namespace}__${name}`;
  return {
    kind: support.custom ? kind : "function",
    name: fitId(flat, {
      maxLength: support.maxNameLength,
      isPlain: support.hasPlainNames,
      letterFirst: support.letterFirst,
    }),
    namespace: support.namespaces ? namespace : undefined,
  };
}

function renameTools(
  tools: readonly Tool[],
  { limitsPropertyNames }: ToolSupport,
): ReadonlyMap<string, RenamedArguments> {
  const renamed = new Map<string, RenamedArguments>();
  if (limitsPropertyNames !== true) return renamed;
  for (const tool of tools) {
    if (tool.kind === "hosted") continue;
    const namespace = tool.kind === "namespace" ? tool.name : undefined;
    for (const one of tool.kind === "namespace" ? tool.tools : [tool]) {
      const fitted = one.kind === "function"
        ? renameArguments(one.parameters)
        : undefined;
      const key = toolKey({ name: one.name, namespace });
      if (fitted !== undefined) renamed.set(key, fitted);
    }
  }
  return renamed;
}

function isSame(one: ToolReference, other: ToolReference): boolean {
  return one.kind === other.kind && toolKey(one) === toolKey(other);
}

/** Returns the caller's tools by the key under which they are sent. */
function claimNames(
  tools: readonly Tool[],
  support: ToolSupport,
): ReadonlyMap<string, ToolReference> {
  const owners = new Map<string, ToolReference>();
  for (const tool of tools.flatMap(references)) {
    const key = toolKey(sentTool(tool, support));
    const owner = owners.get(key);
    if (owner !== undefined && !isSame(owner, tool)) {
      throw collision(owner, tool);
    }
    owners.set(key, tool);
  }
  return owners;
}

function references(tool: Tool): ToolReference[] {
  switch (tool.kind) {
    case "namespace":
      return tool.tools.map(({ kind, name }) => ({
        kind,
        name,
        namespace: tool.name,
      }));
    case "hosted":
      return [];
    default:
      return [{ kind: tool.kind, name: tool.name }];
  }
}

function bridgeTool(tool: Tool, support: Bridging): Tool[] {
  switch (tool.kind) {
    case "hosted":
      return [tool];
    case "namespace": {
      const listed = support.namespaces ? tool.tools : withPreface(tool);
      const inner = listed.map((one) =>
        bridgeCallable(one, tool.name, support)
      );
      return support.namespaces
        ? [{ ...tool, tools: inner }]
        : [...inner, ...tool.hosted ?? []];
    }
    default:
      return [bridgeCallable(tool, undefined, support)];
  }
}

/** Returns the tools of a namespace. The description of the first tool gets the description of the namespace, too. */
function withPreface(
  { name, description = "", tools }: NamespaceTool,
): readonly CallableTool[] {
  const [first, ...others] = tools;
  const isTrivial = description === "" || description === name;
  if (first === undefined || isTrivial) return tools;
  const preface = `For all tools ${name}__…: ${description}`;
  const texts = [first.description ?? "", preface].filter(Boolean);
  return [{ ...first, description: texts.join("\n\n") }, ...others];
}

function bridgeCallable(
  tool: CallableTool,
  namespace: string | undefined,
  support: Bridging,
): CallableTool {
  const { name } = sentTool(
    { kind: tool.kind, name: tool.name, namespace },
    support,
  );
  if (tool.kind === "custom" && !support.custom) {
    return customAsFunction(tool, name);
  }
  const parameters = support.renamed.get(
    toolKey({ name: tool.name, namespace }),
  )?.parameters;
  return name === tool.name && parameters === undefined
    ? tool
    : { ...tool, name, ...(parameters === undefined ? {} : { parameters }) };
}

function customAsFunction(tool: CustomTool, name: string): FunctionTool {
  const grammar = tool.grammar === undefined ? [] : [
    `The text must match this ${tool.grammar.syntax} grammar:\n${tool.grammar.definition}`,
  ];
  const use = `Put the raw text in \`${CUSTOM_INPUT_KEY}\`.`;
  return {
    kind: "function",
    name,
    description: [tool.description ?? "", use, ...grammar].filter(Boolean).join(
      "\n\n",
    ),
    parameters: {
      type: "object",
      properties: { [CUSTOM_INPUT_KEY]: { type: "string" } },
      required: [CUSTOM_INPUT_KEY],
      additionalProperties: false,
    },
    cache: tool.cache,
    settings: tool.settings,
  };
}

function bridgeChoice(
  choice: ToolChoice | undefined,
  support: ToolSupport,
): ToolChoice | undefined {
  switch (choice?.type) {
    case "tool":
      return { ...choice, tool: sentTool(choice.tool, support) };
    case "allowed":
      return {
        ...choice,
        tools: choice.tools.map((tool) => sentTool(tool, support)),
      };
    default:
      return choice;
  }
}

function bridgeTurn(turn: Turn, support: Bridging): Turn {
  if (turn.role !== "assistant" && turn.role !== "tool") return turn;
  return {
    ...turn,
    blocks: turn.blocks.map((block) => bridgeBlock(block, support)),
  };
}

function bridgeBlock(block: Block, support: Bridging): Block {
  switch (block.kind) {
    case "function_call": {
      const { name, namespace } = sentTool(
        { ...block, kind: "function" },
        support,
      );
      const names = support.renamed.get(toolKey(block))?.names;
      return {
        ...block,
        name,
        namespace,
        arguments: objectText(block.arguments, names, support),
      };
    }
    case "custom_call": {
      const { kind, name, namespace } = sentTool(
        { ...block, kind: "custom" },
        support,
      );
      if (kind === "custom") return { ...block, name, namespace };
      return {
        ...functionCall(block.id, name, { [CUSTOM_INPUT_KEY]: block.input }),
        isAsync: block.isAsync,
        sealed: block.sealed,
      };
    }
    case "tool_result":
      return support.custom ? block : { ...block, callKind: "function" };
    default:
      return block;
  }
}

/** Returns arguments with the sent names. Wraps a text that is not one JSON object: providers reject such a text. */
function objectText(
  text: string,
  names: PropertyNames | undefined,
  { note }: Bridging,
): string {
  if (parseArguments(text) === undefined) {
    note("messages");
    return JSON.stringify(argumentsObject(text));
  }
  return names === undefined ? text : withNames(text, names);
}

function functionCall(
  id: string,
  name: string,
  input: Readonly<Record<string, string>>,
): FunctionCallBlock {
  return { kind: "function_call", id, name, arguments: JSON.stringify(input) };
}

function collision(one: ToolReference, other: ToolReference): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot send the tools \`${toolKey(one)}\` and \`${toolKey(other)}\`: ` +
      "both would have the same name at this model's provider. Rename one of them.",
    { param: "tools" },
  );
}
