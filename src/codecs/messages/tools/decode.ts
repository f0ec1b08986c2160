import { wordList, wordSet } from "@gateway/base/collections";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import {
  type InnerSettings,
  innerSettings,
} from "../../canonical/content/extras.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import type {
  FunctionTool,
  Tool,
  ToolChoice,
} from "../../canonical/tools/tool.ts";
import { decodeCache } from "../request/cache.ts";
import { metadataOf, optionalText, requireName } from "../request/fields.ts";
import type { WireToolChoice } from "../wire.ts";
import { decodeSearch } from "./web_search.ts";

const FUNCTION_FIELDS = wordSet(
  "name description input_schema strict cache_control",
);
const TYPED_FIELDS: ReadonlySet<string> = new Set(["name", "cache_control"]);

/**
 * Parses `tools`. A typed tool that the caller runs, such as `bash_20250124`, becomes a function. A typed tool that the
 * provider runs becomes a hosted tool. Tools with deferred loading are read as ordinary tools.
 *
 * @throws {GatewayError} `invalid_request`, which names the tool.
 */
export function decodeTools(tools: readonly JsonObject[]): readonly Tool[] {
  return tools.map((tool, index) => decodeTool(tool, `tools[${index}]`));
}

/** Parses `tool_choice` for the request's tools; throws `invalid_request` for an unknown type. */
export function decodeToolChoice(
  choice: WireToolChoice,
  tools: readonly JsonObject[],
): ToolChoice {
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "any":
      return { type: "required" };
    case "tool":
      return decodeNamed(requireName(choice.name, "tool_choice.name"), tools);
    default:
      throw invalidField("tool_choice.type", "must be auto, any, tool or none");
  }
}

function decodeTool(tool: JsonObject, param: string): Tool {
  const type = optionalText(tool.type) ?? "custom";
  if (isHosted(tool)) {
    const webSearch = decodeSearch(tool);
    return {
      kind: "hosted",
      protocol: "messages",
      type,
      value: tool,
      webSearch,
    };
  }
  const name = requireName(tool.name, `${param}.name`);
  const typed = typedToolOf(type, tool);
  if (typed !== undefined) {
    return {
      kind: "function",
      name,
      ...typed,
      cache: decodeCache(tool),
      settings: decodeSettings(tool),
      providerMetadata: metadataOf(tool, TYPED_FIELDS),
    };
  }
  return decodeFunction(tool, name, param);
}

/** Returns true for a tool of an unknown type without a schema. Only the provider can interpret such a tool. */
function isHosted(tool: JsonObject): boolean {
  const type = optionalText(tool.type) ?? "custom";
  return type !== "custom" && typedToolOf(type) === undefined &&
    !isJsonObject(tool.input_schema);
}

function decodeFunction(
  tool: JsonObject,
  name: string,
  param: string,
): FunctionTool {
  if (!isJsonObject(tool.input_schema)) {
    throw invalidField(`${param}.input_schema`, "is missing");
  }
  return {
    kind: "function",
    name,
    description: optionalText(tool.description),
    parameters: tool.input_schema,
    strict: typeof tool.strict === "boolean" ? tool.strict : undefined,
    cache: decodeCache(tool),
    settings: decodeSettings(tool),
    providerMetadata: metadataOf(tool, FUNCTION_FIELDS),
  };
}

/** Reads the settings whose loss may change the answer. These do not include deferred loading and streamed input. */
function decodeSettings(tool: JsonObject): InnerSettings | undefined {
  const { input_examples: examples, allowed_callers: callers } = tool;
  return innerSettings("messages", {
    "tools.input_examples": Array.isArray(examples) && examples.length > 0,
    "tools.allowed_callers": Array.isArray(callers) &&
      callers.some((caller) => caller !== "direct"),
  });
}

function decodeNamed(name: string, tools: readonly JsonObject[]): ToolChoice {
  const tool = tools.find((one) => one.name === name);
  if (tool !== undefined && isHosted(tool)) {
    return {
      type: "hosted",
      protocol: "messages",
      value: { type: "tool", name },
    };
  }
  return { type: "tool", tool: { kind: "function", name } };
}

/** A typed tool that the caller runs, as a function for models of other protocols. */
interface TypedTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

const text: JsonObject = { type: "string" };
const whole: JsonObject = { type: "integer" };
const point: JsonObject = {
  type: "array",
  items: whole,
  description: "x and y in pixels",
};
const lines: JsonObject = {
  type: "array",
  items: whole,
  description: "First and last line, from 1; -1 for the end",
};

const COMPUTER_ACTIONS = wordList(`
  key hold_key type cursor_position mouse_move left_mouse_down left_mouse_up
  left_click left_click_drag right_click middle_click double_click triple_click
  scroll wait screenshot
`);
const ZOOM_REGION: JsonObject = {
  type: "array",
  items: whole,
  description: "For zoom: x and y of two corners",
};

const EDITS = ["view", "create", "str_replace", "insert"] as const;

/** The fields of the tools that edit files. */
const EDIT_FIELDS = {
  path: text,
  view_range: lines,
  file_text: { ...text, description: "For create: the whole file" },
  old_str: { ...text, description: "For str_replace: the exact old text" },
  new_str: { ...text, description: "For str_replace: the new text" },
  insert_line: { ...whole, description: "For insert: the line before it" },
  insert_text: { ...text, description: "For insert: the new text" },
};

/** The typed tools by the beginning of their type, without its date. */
const TYPED_TOOLS: ReadonlyMap<string, TypedTool> = new Map(Object.entries({
  bash: {
    description: "Runs a command in a shell session that stays open.",
    parameters: object({
      command: { ...text, description: "The command to run" },
      restart: { type: "boolean", description: "Restarts the session" },
    }),
  },
  text_editor: {
    description: "Views, creates and edits text files.",
    parameters: object({
      command: oneOf(...EDITS),
      ...EDIT_FIELDS,
    }, ["command", "path"]),
  },
  memory: {
    description:
      "Keeps notes in files under /memories for later conversations.",
    parameters: object({
      command: oneOf(...EDITS, "delete", "rename"),
      ...EDIT_FIELDS,
      old_path: { ...text, description: "For rename: the present path" },
      new_path: { ...text, description: "For rename: the new path" },
    }, ["command"]),
  },
}));

/**
 * Returns the function for a type such as `bash_20250124`. Returns `undefined` if the type is unknown or the provider
 * runs the tool.
 */
export function typedToolOf(
  type: string,
  tool: JsonObject = {},
): TypedTool | undefined {
  const kind = /^([a-z_]+)_\d{8}$/.exec(type)?.[1];
  if (kind === "computer") return computerTool(tool);
  return kind === undefined ? undefined : TYPED_TOOLS.get(kind);
}

/**
 * Returns the function for the computer tool. The description has the screen's size, because only Claude reads the size
 * from the declaration of the tool.
 */
function computerTool(tool: JsonObject): TypedTool {
  const { display_width_px: width, display_height_px: height } = tool;
  const size = typeof width === "number" && typeof height === "number"
    ? ` The screen has ${width} x ${height} pixels.`
    : "";
  const canZoom = tool.enable_zoom === true;
  return {
    description: `Uses a screen, a mouse and a keyboard.${size}`,
    parameters: object({
      action: oneOf(...COMPUTER_ACTIONS, ...(canZoom ? ["zoom"] : [])),
      text: { ...text, description: "What to type, or the key to press" },
      coordinate: point,
      start_coordinate: point,
      ...(canZoom ? { region: ZOOM_REGION } : {}),
      scroll_direction: oneOf("up", "down", "left", "right"),
      scroll_amount: whole,
      duration: { type: "number", description: "Seconds to hold or wait" },
    }, ["action"]),
  };
}

function object(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: "object", properties, required };
}

function oneOf(...choices: string[]): JsonObject {
  return { type: "string", enum: choices };
}
