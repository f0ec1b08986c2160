import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  parseJson,
} from "@gateway/base/json";
import {
  type Ask,
  freshResults,
  numberOf,
  promptOf,
  textOf,
  type Tool,
} from "./ask.ts";

/** Plausible values for common names of fields; the first matching pattern wins. */
const TEXT_BY_NAME: readonly (readonly [name: RegExp, text: string])[] = [
  [/^(cmd|command|script)$/i, "echo hello from the demo"],
  [/(city|location|place|destination)$/i, "Berlin"],
  [/country$/i, "Germany"],
  [/(path|file|filename)$/i, "demo.txt"],
  [/(url|uri|link)$/i, "https://example.com/"],
  [/(query|question|pattern|search)$/i, "demo"],
  [/e?mail$/i, "demo@example.com"],
  [/(timezone|time_zone)$/i, "Europe/Berlin"],
  [/date$/i, "2026-01-01"],
  [/time$/i, "12:00"],
  [/name$/i, "Demo"],
];

const TEXT_BY_FORMAT: Readonly<Record<string, string>> = {
  "date": "2026-01-01",
  "date-time": "2026-01-01T12:00:00Z",
  "time": "12:00:00Z",
  "email": "demo@example.com",
  "uri": "https://example.com/",
  "url": "https://example.com/",
  "uuid": "00000000-0000-4000-8000-000000000000",
  "ipv4": "192.0.2.1",
  "hostname": "example.com",
};

/** The maximum depth, which ends schemas that refer to themselves. */
const MAX_DEPTH = 8;

/** The position of an example in a schema. */
interface Place {
  /** The whole schema, which `$ref` points into. */
  readonly root: JsonObject;
  /** The name of the field, empty at the top. */
  readonly name: string;
  readonly depth: number;
}

/**
 * Returns a plausible value that satisfies `schema` (JSON Schema). It is the given constant, default, example or first
 * choice, else a value made from type, format, bounds and the field's name. An object gets only its required fields, or
 * its first field when none is required. `pattern` is ignored.
 */
export function exampleOf(schema: JsonObject): JsonValue {
  return exampleAt(schema, { root: schema, name: "", depth: 0 });
}

function exampleAt(schema: JsonObject, place: Place): JsonValue {
  const whole = resolve(schema, place.root);
  const given = givenExample(whole);
  if (given !== undefined) return given;
  switch (typeOf(whole)) {
    case "object":
      return objectExample(whole, place);
    case "array":
      return arrayExample(whole, place);
    case "integer":
    case "number":
      return numberExample(whole);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return textExample(whole, place.name);
  }
}

/** Follows `$ref`, merges `allOf` and takes the first alternative that is not null. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let whole = schema;
  for (let hop = 0; hop < MAX_DEPTH; hop++) {
    const next = resolveOnce(whole, root);
    if (next === undefined) return whole;
    whole = next;
  }
  return {};
}

function resolveOnce(
  schema: JsonObject,
  root: JsonObject,
): JsonObject | undefined {
  const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
  if (typeof $ref === "string") return { ...lookUp($ref, root), ...rest };
  if (allOf !== undefined) return merge([rest, ...objectsOf(allOf)]);
  const choices = objectsOf(anyOf ?? oneOf);
  const choice = choices.find((choice) => choice.type !== "null");
  return choice === undefined ? undefined : merge([rest, choice]);
}

function lookUp(reference: string, root: JsonObject): JsonObject {
  if (!reference.startsWith("#")) return {};
  return reference.split("/").slice(1).reduce(
    (schema, key) =>
      objectOf(schema[key.replaceAll("~1", "/").replaceAll("~0", "~")]),
    root,
  );
}

function merge(schemas: readonly JsonObject[]): JsonObject {
  const properties = schemas.map((schema) => objectOf(schema.properties));
  const whole: JsonObject = Object.assign({}, ...schemas);
  if (properties.some((each) => Object.keys(each).length > 0)) {
    whole.properties = Object.assign({}, ...properties);
    whole.required = schemas.flatMap((schema) => listOf(schema.required));
  }
  return whole;
}

function givenExample(schema: JsonObject): JsonValue | undefined {
  return schema.const ?? schema.default ?? listOf(schema.examples)[0] ??
    listOf(schema.enum)[0];
}

function typeOf(schema: JsonObject): string {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const type = textOf(types.find((type) => type !== "null") ?? types[0]);
  if (type !== "") return type;
  if (schema.properties !== undefined) return "object";
  return schema.items === undefined ? "string" : "array";
}

function objectExample(schema: JsonObject, place: Place): JsonObject {
  const properties = objectOf(schema.properties);
  const required = listOf(schema.required).map(textOf);
  const names = required.length > 0
    ? required
    : Object.keys(properties).slice(0, 1);
  if (place.depth >= MAX_DEPTH) return {};
  return Object.fromEntries(names.map((name) => [
    name,
    exampleAt(objectOf(properties[name]), {
      ...place,
      name,
      depth: place.depth + 1,
    }),
  ]));
}

function arrayExample(schema: JsonObject, place: Place): JsonValue[] {
  if (place.depth >= MAX_DEPTH || schema.maxItems === 0) return [];
  const item = exampleAt(objectOf(schema.items), {
    ...place,
    name: place.name.replace(/s$/, ""),
    depth: place.depth + 1,
  });
  return Array(Math.max(1, numberOf(schema.minItems) ?? 1)).fill(item);
}

function numberExample(schema: JsonObject): number {
  const step = numberOf(schema.multipleOf) ?? 1;
  const least = numberOf(schema.minimum) ??
    (numberOf(schema.exclusiveMinimum) ?? 0) + step;
  const most = numberOf(schema.maximum) ??
    (numberOf(schema.exclusiveMaximum) ?? Infinity) - step;
  return Math.min(Math.ceil(least / step) * step, most);
}

function textExample(schema: JsonObject, name: string): string {
  const text = TEXT_BY_FORMAT[textOf(schema.format)] ??
    TEXT_BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? "demo";
  return text.padEnd(numberOf(schema.minLength) ?? 0, "o")
    .slice(0, numberOf(schema.maxLength) ?? text.length + 1000);
}

/**
 * Returns the tools that the demo calls. These are the tools that `tool_choice` forces, else those that the last user
 * message requests, unless the request ends with tool results. A message requests a tool with "use", "call", "run" or
 * "invoke" before its name, or with a name that is not a plain word (`get_weather`). A message with the word "tool"
 * requests all tools that it names, or else the first one.
 */
export function toolsToCall(ask: Ask): readonly Tool[] {
  const { mode, names } = ask.toolChoice;
  const offered = ask.tools.filter((tool) =>
    names === undefined || names.includes(tool.name)
  );
  if (mode === "none") return [];
  const prompt = promptOf(ask);
  const requested = mode === "auto" && freshResults(ask).length > 0
    ? []
    : requestedTools(prompt, offered);
  const chosen = requested.length === 0 && mode === "required"
    ? offered.slice(0, 1)
    : requested;
  return ask.mayCallInParallel ? chosen : chosen.slice(0, 1);
}

function requestedTools(
  prompt: string,
  tools: readonly Tool[],
): readonly Tool[] {
  const named = tools.filter((tool) => mentions(prompt, tool.name));
  const speaksOfTools = /\btools?\b/i.test(prompt);
  if (speaksOfTools) return named.length > 0 ? named : tools.slice(0, 1);
  return named.filter((tool) =>
    !isPlainWord(tool.name) || isInvoked(prompt, tool.name)
  );
}

function mentions(prompt: string, name: string): boolean {
  return new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-])`).test(prompt);
}

/** Returns true for names like `Read` and `search`, which a message may contain by chance, unlike `get_weather`. */
function isPlainWord(name: string): boolean {
  return /^[A-Z]?[a-z]+$/.test(name);
}

function isInvoked(prompt: string, name: string): boolean {
  return new RegExp(
    `\\b(use|call|run|invoke)\\s+(the\\s+)?[\`"']?${RegExp.escape(name)}\\b`,
    "i",
  ).test(prompt);
}

/**
 * Returns the input of a tool call: the first JSON object of the prompt, else arguments made from the tool's schema. A
 * custom tool gets the first fenced block of the prompt, else a text for its name.
 */
export function callInput(tool: Tool, prompt: string): string {
  if (tool.kind === "custom") {
    return fencedBlock(prompt) ?? CUSTOM_INPUTS[tool.name] ??
      "hello from the demo";
  }
  const given = objectInText(prompt);
  if (given !== undefined) return given;
  const example = exampleOf(tool.schema);
  return JSON.stringify(isJsonObject(example) ? example : {});
}

/** The inputs of well-known clients' tools whose grammar rejects free text. */
const CUSTOM_INPUTS: Readonly<Record<string, string>> = {
  apply_patch:
    "*** Begin Patch\n*** Add File: demo.txt\n+hello from the demo\n*** End Patch",
  exec: 'console.log("hello from the demo");',
};

function fencedBlock(text: string): string | undefined {
  return text.match(/```[^\n]*\n([\s\S]*?)\n?```/)?.[1];
}

/** Returns the first JSON object in `text`, unchanged. */
function objectInText(text: string): string | undefined {
  const start = text.indexOf("{");
  if (start < 0) return undefined;
  for (
    let end = text.lastIndexOf("}");
    end > start;
    end = text.lastIndexOf("}", end - 1)
  ) {
    const candidate = text.slice(start, end + 1);
    if (isJsonObject(parseJson(candidate))) return candidate;
  }
  return undefined;
}
