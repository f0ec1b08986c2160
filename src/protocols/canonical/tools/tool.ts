import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../core/json.ts";
import type { Protocol } from "../../../core/protocol.ts";
import type { CacheMark } from "../content/block.ts";
import type { InnerSettings, ProviderMetadata } from "../content/extras.ts";

/** Something the model may call. */
export type Tool = CallableTool | NamespaceTool | HostedTool;

/** A tool that the caller runs. */
export type CallableTool = FunctionTool | CustomTool;

/**
 * A function with a JSON schema. A decoder presents a typed tool of its protocol that the caller runs
 * (a shell, a text editor) as a function with a fitting schema, and notes its type in `providerMetadata`, from which
 * its own encoder spells the tool and its calls again.
 */
export interface FunctionTool {
  readonly kind: "function";
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON schema of the arguments; absent means no arguments. */
  readonly parameters?: JsonObject | undefined;
  /** Whether arguments are held to the schema; absent means the protocol's caller did not say, which is no. */
  readonly strict?: boolean | undefined;
  readonly cache?: CacheMark | undefined;
  readonly settings?: InnerSettings | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A tool whose input is free text, maybe held to a grammar. */
export interface CustomTool {
  readonly kind: "custom";
  readonly name: string;
  readonly description?: string | undefined;
  /** Absent means any text. */
  readonly grammar?: {
    readonly syntax: string;
    readonly definition: string;
  } | undefined;
  readonly cache?: CacheMark | undefined;
  readonly settings?: InnerSettings | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Tools under one name (Responses). */
export interface NamespaceTool {
  readonly kind: "namespace";
  readonly name: string;
  readonly description?: string | undefined;
  readonly tools: readonly CallableTool[];
  /** Members that the upstream itself runs. */
  readonly hosted?: readonly HostedTool[] | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A tool that the upstream itself runs, in its own protocol's spelling. */
export interface HostedTool {
  readonly kind: "hosted";
  readonly protocol: Protocol;
  /** The wire's `type`, for reports. */
  readonly type: string;
  readonly value: JsonObject;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Names one tool. */
export interface ToolReference {
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Whether and what the model must call; absent in a request means `auto`. */
export type ToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "tool"; readonly tool: ToolReference }
  /** Only these of the tools, in this mode. */
  | {
    readonly type: "allowed";
    readonly mode: "auto" | "required";
    readonly tools: readonly ToolReference[];
  }
  /** A tool that the upstream runs; another protocol loses it with weight `answer`. */
  | {
    readonly type: "hosted";
    readonly protocol: Protocol;
    readonly value: JsonObject;
  };

/** The tools that a list of allowed ones leaves, for targets without such a list; all where there is none. */
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

/** Whether the model must call a tool that the caller runs. */
export function isForce(choice: ToolChoice | undefined): boolean {
  return choice?.type === "required" || choice?.type === "tool" ||
    choice?.type === "allowed" && choice.mode === "required";
}

/** What a model that cannot be forced is told instead. */
export function nudgeForTool(choice: ToolChoice | undefined): string {
  return choice?.type === "tool"
    ? `Answer by calling the tool \`${choice.tool.name}\`.`
    : "Answer by calling one of the tools.";
}

/** Holds what was no JSON object, so that nothing a model wrote is thrown away. */
const RAW_KEY = "_raw";

/** Whether a call's arguments are none: no text, or `null`, which some models write for a function without any. */
export function isNoArguments(text: string): boolean {
  return text.length < 64 && /^\s*(?:null)?\s*$/.test(text);
}

/** A call's arguments as the object that they are, an empty one for none; `undefined` for text that is no object. */
export function parseArguments(text: string): JsonObject | undefined {
  if (isNoArguments(text)) return {};
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/**
 * A call's arguments as an object, for protocols that have no text there; text that is no JSON object becomes
 * `{"_raw": text}`. For histories: in an answer such text never gets that far.
 */
export function argumentsObject(text: string): JsonObject {
  return parseArguments(text) ?? { [RAW_KEY]: text };
}

/** The reverse of {@linkcode argumentsObject}; keeps the order of keys, which caches depend on. */
export function argumentsText(value: unknown): string {
  if (isJsonObject(value)) {
    const raw = value[RAW_KEY];
    if (typeof raw === "string" && Object.keys(value).length === 1) return raw;
    return JSON.stringify(value);
  }
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Arguments as they stand in a history, as the text that they are; some clients send the object, or `"null"`. */
export function givenArguments(value: unknown): string {
  if (typeof value !== "string") return argumentsText(value);
  return isNoArguments(value) ? "" : value;
}
