import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/base/json.ts";
import { moonshotSchemaFault } from "../support/upstream/moonshot_rules.ts";
import {
  claudeSchemaFault,
  openAiSchemaFault,
} from "../support/upstream/schema_rules.ts";

/** A tool as a provider reads it. */
export interface SentTool {
  readonly name: string;
  readonly schema: JsonObject;
  readonly strict: boolean;
}

/** Returns what a host refuses in a tool; `undefined` when it accepts it. */
type Oracle = (tool: SentTool) => string | undefined;

/** The strictest known rules of each host, with the reports that quote them. */
export const ORACLES: Readonly<Record<string, Oracle>> = {
  claude: ({ name, schema, strict }) =>
    badName(name, /^[a-zA-Z0-9_-]{1,128}$/) ?? badRoot(schema) ??
      claudeSchemaFault(schema) ?? draftFault(schema) ??
      (strict ? claudeStrictFault(schema) : undefined),
  openai: ({ name, schema, strict }) =>
    badName(name, /^[a-zA-Z0-9_-]{1,64}$/) ?? openAiSchemaFault(schema) ??
      (strict ? openFault(schema) ?? strictSizeFault(schema) : undefined),
  // github.com/kaitranntt/ccs/issues/25, github.com/google-gemini/gemini-cli/issues/2966
  gemini: ({ name, schema }) =>
    badName(name, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/) ?? badRoot(schema) ??
      draftFault(schema),
  // github.com/MoonshotAI/kimi-code/issues/2661, github.com/lidge-jun/opencodex/issues/2673,
  // github.com/MoonshotAI/kimi-cli/issues/2061, github.com/anomalyco/opencode/issues/25495
  kimi: ({ name, schema }) =>
    badName(name, /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/) ?? badRoot(schema) ??
      moonshotSchemaFault(schema),
  // github.com/ggml-org/llama.cpp/issues/26930, github.com/ggml-org/llama.cpp/issues/27580
  llamacpp: ({ schema }) =>
    badRoot(schema) ??
      eachSchema(schema, ({ pattern }) =>
        typeof pattern !== "string" || isPlainPattern(pattern)
          ? undefined
          : `pattern ${pattern}`),
};

function badName(name: string, rule: RegExp): string | undefined {
  return rule.test(name) ? undefined : `name ${name}`;
}

function badRoot({ type }: JsonObject): string | undefined {
  return type === "object" ? undefined : "root without type object";
}

function isPlainPattern(pattern: string): boolean {
  return /^\^.*\$$/s.test(pattern) && !/\\[dwsbDWSB]|\(\?/.test(pattern);
}

/** Refuses older drafts and dangling references. Claude and Gemini's hosts demand draft 2020-12. */
function draftFault(root: JsonObject): string | undefined {
  return eachSchema(root, (one) => {
    if (typeof one.exclusiveMinimum === "boolean") return "exclusiveMinimum";
    if (typeof one.exclusiveMaximum === "boolean") return "exclusiveMaximum";
    if (Array.isArray(one.items)) return "items as a tuple";
    if (one.required !== undefined && !Array.isArray(one.required)) {
      return "required is no list";
    }
    if (one.properties !== undefined && !isJsonObject(one.properties)) {
      return "properties is no object";
    }
    return typeof one.$ref === "string" && !resolves(root, one.$ref)
      ? `dangling ${one.$ref}`
      : undefined;
  });
}

function resolves(root: JsonObject, reference: string): boolean {
  if (!reference.startsWith("#")) return false;
  const found = reference.slice(1).split("/").filter(Boolean)
    .reduce<JsonValue | undefined>((value, key) => {
      const name = key.replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(value)) return value[Number(name)];
      return isJsonObject(value) ? value[name] : undefined;
    }, root);
  return found !== undefined;
}

/** Returns the fault of a strict tool that does not close every object or require every property. */
function openFault(schema: JsonObject): string | undefined {
  return eachSchema(schema, ({ type, properties, required, ...rest }) => {
    if (type !== "object") return undefined;
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    const isClosed = rest.additionalProperties === false &&
      names.every((name) => Array.isArray(required) && required.includes(name));
    return isClosed ? undefined : "an open object in a strict tool";
  });
}

/**
 * Returns the exceeded limit of a strict schema:
 * developers.openai.com/api/docs/guides/structured-outputs#supported-schemas
 */
function strictSizeFault(root: JsonObject): string | undefined {
  const names: string[] = [];
  const values: string[] = [];
  let longEnum: string | undefined;
  eachSchema(root, ({ properties, $defs, enum: choices, const: value }) => {
    if (isJsonObject(properties)) names.push(...Object.keys(properties));
    if (value !== undefined) values.push(String(value));
    if (isJsonObject($defs)) values.push(...Object.keys($defs));
    if (!Array.isArray(choices)) return undefined;
    values.push(...choices.map(String));
    const isLong = choices.length > 250 && choices.join("").length > 15_000;
    if (isLong) longEnum = "more than 15,000 characters in an enum";
    return undefined;
  });
  if (names.length > 5_000) return `${names.length} properties`;
  if (deepest(root) > 10) return `${deepest(root)} levels of objects`;
  const characters = [...names, ...values].join("").length;
  return characters > 120_000 ? `${characters} characters` : longEnum;
}

/** Returns the deepest nesting of objects. */
function deepest(value: JsonValue | undefined): number {
  if (Array.isArray(value)) return Math.max(0, ...value.map(deepest));
  if (!isJsonObject(value)) return 0;
  const own = isJsonObject(value.properties) && value.type === "object" ? 1 : 0;
  return own + Math.max(0, ...Object.values(value).map(deepest));
}

/** The most tools of a request, by host, from reported errors. */
const MOST_TOOLS: Readonly<Record<string, number>> = {
  // In Chat Completions, "Expected an array with maximum length 128": github.com/zed-industries/zed/issues/32946
  openai: 128,
  // "At most 512 function declarations": github.com/google-gemini/gemini-cli/issues/19083
  gemini: 512,
};

/** Returns what a host refuses in the tools of one request together; `undefined` when it accepts them. */
export function totalsFault(
  host: string,
  tools: readonly SentTool[],
  protocol: string,
): string | undefined {
  const most = protocol === "chat" ? MOST_TOOLS[host] ?? Infinity : Infinity;
  if (tools.length > most) return `${tools.length} tools, more than ${most}`;
  return host === "claude" ? claudeTotalsFault(tools) : undefined;
}

/** Returns the limit of Claude that strict tools exceed, by their number or their total size. */
function claudeTotalsFault(
  tools: readonly SentTool[],
): string | undefined {
  const strict = tools.filter((tool) => tool.strict);
  let [optional, unions] = [0, 0];
  for (const { schema } of strict) {
    eachSchema(schema, ({ properties, required, type, anyOf }) => {
      const names = isJsonObject(properties) ? Object.keys(properties) : [];
      const all = Array.isArray(required) ? required : [];
      optional += names.filter((name) => !all.includes(name)).length;
      if (Array.isArray(type) || Array.isArray(anyOf)) unions++;
      return undefined;
    });
  }
  // github.com/genkit-ai/genkit/issues/5230, github.com/ENTERPILOT/GoModel/pull/963
  if (strict.length > 20) return `${strict.length} strict tools`;
  if (optional > 24) return `${optional} optional parameters in strict tools`;
  return unions > 16 ? `${unions} unions in strict tools` : undefined;
}

/**
 * The keywords that Claude accepts in strict tools:
 * https://repo.hex.pm/docs/lang_schema-0.7.1.tar.gz:LangSchema.Converter.Anthropic.html
 */
const CLAUDE_STRICT = [
  ..."$ref $defs title description default type enum const anyOf".split(" "),
  ..."properties required additionalProperties items format minItems"
    .split(" "),
];

/** Strict tools at Claude close every object, and have neither `allOf` nor keywords that no grammar enforces. */
function claudeStrictFault(schema: JsonObject): string | undefined {
  return eachSchema(schema, (one) => {
    const unknown = Object.keys(one)
      .find((keyword) => !CLAUDE_STRICT.includes(keyword));
    if (unknown !== undefined) return `${unknown} in a strict tool`;
    return one.properties !== undefined && one.additionalProperties !== false
      ? "an open object in a strict tool"
      : undefined;
  });
}

/** The keywords whose values are schemas by name, lists of schemas, and single schemas. */
const MAPS = ["properties", "$defs", "definitions", "patternProperties"];
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const SINGLE = ["items", "additionalProperties", "not"];

function eachSchema(
  schema: JsonObject,
  fault: (schema: JsonObject) => string | undefined,
): string | undefined {
  const own = fault(schema);
  if (own !== undefined) return own;
  const inner = [
    ...MAPS.flatMap((word) => {
      const map = schema[word];
      return isJsonObject(map) ? Object.values(map) : [];
    }),
    ...LISTS.flatMap((word) => {
      const list = schema[word];
      return Array.isArray(list) ? list : [];
    }),
    ...SINGLE.flatMap((word) => {
      const value = schema[word];
      return Array.isArray(value) ? value : [value];
    }),
  ];
  return inner.filter(isJsonObject).map((one) => eachSchema(one, fault))
    .find((one) => one !== undefined);
}
