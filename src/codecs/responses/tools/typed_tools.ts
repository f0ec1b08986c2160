import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import {
  type InnerSettings,
  innerSettings,
} from "../../canonical/content/extras.ts";
import type { FunctionTool } from "../../canonical/tools/tool.ts";
import { metadataObject, ownMetadata, textOf } from "../fields.ts";

/**
 * A tool that has its own type and that the caller runs. Other protocols get a function instead. This codec restores
 * the shapes of the tool, of its calls and of its results.
 */
export interface TypedTool {
  /** The type of the tool. Its calls and results have different types. */
  readonly type: string;
  readonly callType: string;
  readonly resultType: string;
  /** The prefix of the ids of its call items. */
  readonly idPrefix: string;
  /** The description for models that do not support the type. */
  readonly description: string;
  readonly parameters: JsonObject;
  /** Returns true when the caller runs the tool of this declaration or call, and false when the provider does. */
  isRunByCaller(item: JsonObject): boolean;
  /** Returns the arguments of a call. */
  argumentsOf(call: JsonObject): JsonValue | undefined;
  /** Returns the fields of a call that hold its arguments. */
  fieldsOf(callArguments: JsonObject): JsonObject;
  /** Returns the text of a result for the model. */
  textOf(result: JsonObject): string;
}

const STRING = { type: "string" };
const STRINGS = { type: "array", items: STRING };
const INTEGER = { type: "integer" };

const TOOL_SEARCH: TypedTool = {
  type: "tool_search",
  callType: "tool_search_call",
  resultType: "tool_search_output",
  idPrefix: "tsc",
  description: "Finds and loads further tools.",
  parameters: {
    type: "object",
    properties: { query: STRING },
    required: ["query"],
  },
  isRunByCaller: ({ execution }) => execution === "client",
  argumentsOf: (call) => call.arguments,
  fieldsOf: (callArguments) => ({
    arguments: callArguments,
    execution: "client",
  }),
  textOf: ({ tools }) => `Loaded tools: ${namesOf(tools).join(", ") || "none"}`,
};

const LOCAL_SHELL: TypedTool = {
  type: "local_shell",
  callType: "local_shell_call",
  resultType: "local_shell_call_output",
  idPrefix: "lsh",
  description: "Runs one command on the user's machine.",
  parameters: {
    type: "object",
    properties: {
      command: STRINGS,
      working_directory: STRING,
      timeout_ms: INTEGER,
    },
    required: ["command"],
  },
  isRunByCaller: () => true,
  argumentsOf: ({ action }) => withoutType(action),
  fieldsOf: (callArguments) => ({
    action: { type: "exec", env: {}, ...callArguments },
  }),
  textOf: ({ output }) => textOf(output) ?? "",
};

const SHELL: TypedTool = {
  type: "shell",
  callType: "shell_call",
  resultType: "shell_call_output",
  idPrefix: "sh",
  description: "Runs shell commands on the user's machine.",
  parameters: {
    type: "object",
    properties: {
      commands: STRINGS,
      timeout_ms: INTEGER,
      max_output_length: INTEGER,
    },
    required: ["commands"],
  },
  isRunByCaller: ({ environment }) =>
    !isJsonObject(environment) || environment.type === "local",
  argumentsOf: ({ action }) => action,
  fieldsOf: (callArguments) => ({
    action: { timeout_ms: null, max_output_length: null, ...callArguments },
  }),
  textOf: ({ output }) =>
    (Array.isArray(output) ? output : []).map(shellText).join("\n"),
};

const APPLY_PATCH: TypedTool = {
  type: "apply_patch",
  callType: "apply_patch_call",
  resultType: "apply_patch_call_output",
  idPrefix: "apc",
  description:
    "Creates, changes or deletes a file. `diff` holds the lines of the file, each behind a space, `-` or `+`.",
  parameters: {
    type: "object",
    properties: {
      type: {
        type: "string",
        enum: ["create_file", "update_file", "delete_file"],
      },
      path: STRING,
      diff: STRING,
    },
    required: ["type", "path"],
  },
  isRunByCaller: () => true,
  argumentsOf: ({ operation }) => operation,
  fieldsOf: (callArguments) => ({ operation: callArguments }),
  textOf: ({ output, status }) => textOf(output) ?? textOf(status) ?? "",
};

const TYPED_TOOLS: readonly TypedTool[] = [
  TOOL_SEARCH,
  LOCAL_SHELL,
  SHELL,
  APPLY_PATCH,
];

/** Returns the typed tool that `item` declares, or `undefined` for a tool that the provider runs. */
export function decodeTypedTool(item: JsonObject): FunctionTool | undefined {
  const tool = TYPED_TOOLS.find(({ type }) => type === item.type);
  if (tool === undefined || !tool.isRunByCaller(item)) return undefined;
  const { description, parameters } = item;
  return {
    kind: "function",
    name: tool.type,
    description: textOf(description) ?? tool.description,
    parameters: isJsonObject(parameters) ? parameters : tool.parameters,
    settings: decodeToolSettings(item),
    providerMetadata: ownMetadata({ typed: item }),
  };
}

/** Returns the settings of a tool, apart from its schema, that change how the model uses the tool. */
export function decodeToolSettings(
  tool: JsonObject,
): InnerSettings | undefined {
  const { allowed_callers: callers, environment } = tool;
  const skills = isJsonObject(environment) ? environment.skills : undefined;
  return innerSettings("responses", {
    "tools.async": tool.async === true,
    "tools.output_schema": isJsonObject(tool.output_schema),
    "tools.allowed_callers": Array.isArray(callers) &&
      callers.some((caller) => caller !== "direct"),
    "tools.environment.skills": Array.isArray(skills) && skills.length > 0,
  });
}

/** Returns the original declaration of a typed tool. */
export function encodeTypedTool(tool: FunctionTool): JsonObject | undefined {
  return metadataObject(tool, "typed");
}

/** Returns the typed tool with this `type`. */
export function typedTool(type: string): TypedTool | undefined {
  return TYPED_TOOLS.find((tool) => tool.type === type);
}

/** Returns the typed tool that `item` calls, or `undefined` for a call that the provider runs. */
export function toolOfCall(item: JsonObject): TypedTool | undefined {
  const tool = TYPED_TOOLS.find(({ callType }) => callType === item.type);
  return tool?.isRunByCaller(item) ? tool : undefined;
}

/**
 * Returns the typed tool whose result `item` may be. Only the call before the item shows whether the caller ran the
 * tool.
 */
export function toolOfResult(item: JsonObject): TypedTool | undefined {
  return TYPED_TOOLS.find(({ resultType }) => resultType === item.type);
}

/** Returns the names of the tools for a model that does not support namespaces. */
function namesOf(tools: JsonValue | undefined): string[] {
  return (Array.isArray(tools) ? tools : []).filter(isJsonObject)
    .flatMap(({ name, tools: inner }) => {
      const own = textOf(name) ?? "";
      return Array.isArray(inner)
        ? namesOf(inner).map((one) => `${own}__${one}`)
        : [own];
    }).filter((name) => name !== "");
}

function withoutType(action: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(action)) return action;
  const { type: _type, ...rest } = action;
  return rest;
}

/** Returns the output of one command. If the command failed, the outcome is appended. */
function shellText(output: JsonValue): string {
  if (!isJsonObject(output)) return "";
  const { stdout, stderr, outcome } = output;
  const printed = `${textOf(stdout) ?? ""}${textOf(stderr) ?? ""}`;
  if (!isJsonObject(outcome)) return printed;
  if (outcome.type === "timeout") return `${printed}\n[timed out]`;
  return outcome.exit_code === 0
    ? printed
    : `${printed}\n[exit code ${outcome.exit_code}]`;
}
