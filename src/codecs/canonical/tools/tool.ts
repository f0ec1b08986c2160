import { isJsonObject, type JsonObject, parseJson } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { CacheMark } from "../content/block.ts";
import type { InnerSettings, ProviderMetadata } from "../content/extras.ts";

/** A tool that the model may call. */
export type Tool = CallableTool | NamespaceTool | HostedTool;

/** A tool that the caller runs. */
export type CallableTool = FunctionTool | CustomTool;

interface NamedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly cache?: CacheMark | undefined;
  readonly settings?: InnerSettings | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/**
 * A function with a JSON schema. Decoders turn their protocol's typed tools that the caller runs (a shell, a text
 * editor) into functions with a fitting schema. They keep the type in `providerMetadata`, so that the encoder of the
 * same protocol can restore the tool and its calls.
 */
export interface FunctionTool extends NamedTool {
  readonly kind: "function";
  /** The JSON schema of the arguments; absent means no arguments. */
  readonly parameters?: JsonObject | undefined;
  /** True when the arguments must match the schema. Absent, which means false, when the caller did not set `strict`. */
  readonly strict?: boolean | undefined;
}

/** A tool whose input is free text, optionally limited by a grammar. */
export interface CustomTool extends NamedTool {
  readonly kind: "custom";
  /** Absent means any text. */
  readonly grammar?: {
    readonly syntax: string;
    readonly definition: string;
  } | undefined;
}

/** A group of tools under one name (Responses). */
export interface NamespaceTool {
  readonly kind: "namespace";
  readonly name: string;
  readonly description?: string | undefined;
  readonly tools: readonly CallableTool[];
  /** The hosted tools of the namespace. The upstream runs these tools. */
  readonly hosted?: readonly HostedTool[] | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A tool that the upstream runs, in the spelling of `protocol`. */
export interface HostedTool {
  readonly kind: "hosted";
  readonly protocol: Protocol;
  /** The original `type`, for reports. */
  readonly type: string;
  readonly value: JsonObject;
  /** Set if the tool is a web search. A provider of another protocol may run its own web search instead. */
  readonly webSearch?: WebSearch | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The settings of an upstream's web search. */
export interface WebSearch {
  /** The amount of search results in the context: `low`, `medium`, `high`. */
  readonly contextSize?: string | undefined;
  /** The user's approximate location: `city`, `country`, `region`, `timezone`. */
  readonly location?: JsonObject | undefined;
  readonly allowedDomains?: readonly string[] | undefined;
  readonly blockedDomains?: readonly string[] | undefined;
  /** The most searches for one answer. */
  readonly maxUses?: number | undefined;
}

/** The kind and name of one tool. */
export interface ToolReference {
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The tools that the model may or must call; absent in a request means `auto`. */
export type ToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "tool"; readonly tool: ToolReference }
  /** Limits the model to these tools, in this mode. */
  | {
    readonly type: "allowed";
    readonly mode: "auto" | "required";
    readonly tools: readonly ToolReference[];
  }
  /** A tool that the upstream runs. Encoders of other protocols drop it with the weight `report`. */
  | {
    readonly type: "hosted";
    readonly protocol: Protocol;
    readonly value: JsonObject;
  };

/**
 * Returns the tools that the choice allows, for targets that take no list of allowed tools. Returns all tools when the
 * choice has no list.
 */
export function allowedTools(
  tools: readonly Tool[],
  choice: ToolChoice | undefined,
): readonly Tool[] {
  if (choice?.type !== "allowed") return tools;
  const allowed = new Set(
    choice.tools.map(({ kind, name }) => `${kind} ${name}`),
  );
  return tools.filter((tool) =>
    tool.kind !== "hosted" && allowed.has(`${tool.kind} ${tool.name}`)
  );
}

/** Returns true when the model must call a tool that the caller runs. */
export function isForce(choice: ToolChoice | undefined): boolean {
  return choice?.type === "required" || choice?.type === "tool" ||
    choice?.type === "allowed" && choice.mode === "required";
}

/** Returns the instruction for a model that cannot be forced to call a tool. */
export function nudgeForTool(choice: ToolChoice | undefined): string {
  return choice?.type === "tool"
    ? `Answer by calling the tool \`${choice.tool.name}\`.`
    : "Answer by calling one of the tools.";
}

/** Returns true when a call has no arguments: empty text or `null`. Some models write `null`. */
function isNoArguments(text: string): boolean {
  return text.length < 64 && /^\s*(?:null)?\s*$/.test(text);
}

/** Parses a call's arguments. Returns `{}` for no arguments, and `undefined` for text that is not an object. */
export function parseArguments(text: string): JsonObject | undefined {
  if (isNoArguments(text)) return {};
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/**
 * Returns a call's arguments as an object. Text that is not a JSON object becomes `{"_raw": text}`. Only histories need
 * that: in an answer such text is a failure.
 */
export function argumentsObject(text: string): JsonObject {
  return parseArguments(text) ?? { _raw: text };
}

/** Returns arguments as text. The keys keep their order, because caches depend on the order. */
export function argumentsText(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Returns the arguments in a history as text. Some clients send an object, or `"null"` for no arguments. */
export function givenArguments(value: unknown): string {
  if (typeof value !== "string") return argumentsText(value);
  return isNoArguments(value) ? "" : value;
}
