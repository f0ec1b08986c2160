import ts from "npm:typescript@6.0.3";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const ONE = "https://example.com/a.png";

/** Valid texts and numbers, by the names of properties that do not accept every one. */
const VALUES: Readonly<Record<string, readonly JsonValue[]>> = {
  url: [ONE, "https://example.com/b.png"],
  image_url: [ONE, "https://example.com/b.png"],
  file_url: ["https://example.com/a.pdf", "https://example.com/b.pdf"],
  file_data: [
    "data:application/pdf;base64,JVBERi0xLjQ=",
    "data:application/pdf;base64,JVBERi0xLjU=",
  ],
  data: ["JVBERi0xLjQ=", "JVBERi0xLjU="],
  arguments: ['{"city":"Rome"}', '{"city":"Oslo"}'],
  tool_use_id: ["call_1", "call_2"],
  tool_call_id: ["call_1", "call_2"],
  call_id: ["call_1", "call_2"],
  temperature: [0.5],
  top_p: [0.5],
  frequency_penalty: [0.5],
  presence_penalty: [0.5],
  budget_tokens: [2000, 3000],
  max_tokens: [9000, 8000],
  max_completion_tokens: [9000],
  max_output_tokens: [9000],
  // A part of them is never larger.
  input_tokens: [100, 90],
  prompt_tokens: [100, 90],
  index: [0, 1],
  output_index: [0, 1],
  content_index: [0, 1],
  summary_index: [0, 1],
  item_id: ["item_1", "item_2"],
  definition: ["start: /.+/", "start: /a+/"],
  pattern: ["^a$", "^b$"],
};

/** The turns of a request whose turns do not matter. */
export const ANY_TURNS: JsonValue = [{ role: "user", content: "Hello" }];

/** Writes sample values of TypeScript's types. */
export interface Sampler {
  /** Returns values for a property of this name: at least one, and two different ones for most types. */
  values(type: ts.Type, name: string): JsonValue[];
  /** Returns the smallest object of this type, without the property `except`. */
  least(type: ts.Type, except?: string): JsonObject;
}

const MAX_DEPTH = 7;
const MAX_VALUES = 12;

/** Creates a sampler of the types that `checker` knows. */
export function createSampler(checker: ts.TypeChecker): Sampler {
  function values(type: ts.Type, name: string, depth = 0): JsonValue[] {
    const known = VALUES[name];
    if (known !== undefined && !isComplex(type)) return [...known];
    if (type.isUnion()) {
      const all = type.types.flatMap((one) => values(one, name, depth));
      return distinct(all).slice(0, MAX_VALUES);
    }
    if (type.isStringLiteral() || type.isNumberLiteral()) return [type.value];
    if (type.flags & ts.TypeFlags.BooleanLiteral) {
      return [checker.typeToString(type) === "true"];
    }
    if (type.flags & ts.TypeFlags.StringLike || isOpenWord(type)) {
      return [`a ${name}`, "another"];
    }
    if (type.flags & ts.TypeFlags.NumberLike) return [7, 11];
    if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) {
      return [SCHEMA, { ...SCHEMA, title: "another" }];
    }
    if (!isObjectLike(type)) return [];
    if (checker.isArrayType(type)) {
      const [of] = checker.getTypeArguments(reference(type));
      if (of === undefined || depth > MAX_DEPTH) return [[]];
      return values(of, name, depth + 1).map((value) => [value]);
    }
    const index = checker.getIndexInfoOfType(type, ts.IndexKind.String);
    if (index !== undefined) return dictionary(index.type, depth);
    return [least(type, undefined, depth)];
  }

  function dictionary(of: ts.Type, depth: number): JsonValue[] {
    if (of.flags & ts.TypeFlags.Unknown) {
      return [SCHEMA, { ...SCHEMA, title: "another" }];
    }
    return values(of, "entry", depth + 1).map((value) => ({ one: value }));
  }

  function least(type: ts.Type, except?: string, depth = 0): JsonObject {
    const object: JsonObject = {};
    if (depth > MAX_DEPTH) return object;
    for (const property of checker.getPropertiesOfType(type)) {
      if (property.name === except || isOptional(property)) continue;
      if (depth === 0 && property.name === "messages") {
        object.messages = ANY_TURNS;
        continue;
      }
      const of = checker.getTypeOfSymbol(property);
      const [value] = isNullable(of) && property.name !== "content"
        ? [null]
        : values(of, property.name, depth + 1);
      if (value !== undefined) object[property.name] = value;
    }
    return object;
  }

  function isComplex(type: ts.Type): boolean {
    if (type.isUnion()) return type.types.every(isComplex);
    return (type.flags & ts.TypeFlags.Object) !== 0 || type.isStringLiteral() ||
      (type.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) !== 0;
  }

  return { values, least };
}

/** Returns true for a type with properties; false for `string & {}`. */
export function isObjectLike(type: ts.Type): boolean {
  return (type.flags & ts.TypeFlags.Object) !== 0 ||
    type.isIntersection() && !isOpenWord(type);
}

function isOpenWord(type: ts.Type): boolean {
  return type.isIntersection() &&
    type.types.some(({ flags }) => (flags & ts.TypeFlags.StringLike) !== 0);
}

/** Returns true for an optional property. */
export function isOptional(property: ts.Symbol): boolean {
  return (property.flags & ts.SymbolFlags.Optional) !== 0;
}

function isNullable(type: ts.Type): boolean {
  return type.isUnion() &&
    type.types.some(({ flags }) => (flags & ts.TypeFlags.Null) !== 0);
}

/** Returns an array or a tuple as the compiler's type reference. */
export function reference(type: ts.Type): ts.TypeReference {
  if (!isReference(type)) throw new TypeError("is no array");
  return type;
}

function isReference(type: ts.Type): type is ts.TypeReference {
  return "target" in type;
}

function distinct(values: readonly JsonValue[]): JsonValue[] {
  const byText = new Map(values.map((one) => [JSON.stringify(one), one]));
  return [...byText.values()];
}
