import { z } from "zod";
import { wholeFileSchema, wholeIncludedSchema } from "./config_file.ts";
import { type JsonSchema, takeForms } from "./fields.ts";

/** Accepts any text with a variable, because the text cannot be validated before the variable has a value. */
const DEFINITIONS: Readonly<Record<string, JsonSchema>> = {
  variable: {
    type: "string",
    pattern: "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}",
    description:
      "A text with the value of the environment variable NAME: ${NAME}.",
  },
};

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

const REFERENCE: JsonSchema = { $ref: "#/$defs/variable" };

/**
 * Returns the JSON Schema (draft 2020-12) of a `gateway.yaml`, for editors and other programs. The schema accepts every
 * file that the gateway accepts, but cannot check conditions across several fields.
 */
export function configJsonSchema(): JsonSchema {
  return jsonSchemaOf(wholeFileSchema, "Configuration of Model Gateway");
}

/** Returns the JSON Schema of a file that `include` names, for editors. */
export function includedJsonSchema(): JsonSchema {
  return jsonSchemaOf(
    wholeIncludedSchema,
    "Tokens and groups of Model Gateway",
  );
}

function jsonSchemaOf(schema: z.ZodType, title: string): JsonSchema {
  const file = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      // Zod omits the default of a converted value. Here, a default is written like any other value.
      if (
        zodSchema instanceof z.ZodDefault || zodSchema instanceof z.ZodPrefault
      ) {
        jsonSchema.default = zodSchema.def.defaultValue;
      }
    },
  });
  const { $schema: _, ...rest } = file;
  return {
    $schema: DRAFT,
    title,
    ...widen(rest),
    $defs: DEFINITIONS,
  };
}

/** Returns a schema that accepts a value in every form: shorthands, and texts with a variable. */
function widen(schema: JsonSchema): JsonSchema {
  const { description, default: preset, unit: _, ...rest } = schema;
  const forms = formsOf(rest);
  if (forms.some(isNarrow) && !forms.some(isAnyText)) forms.push(REFERENCE);
  const [only, ...more] = forms;
  return {
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined || isEmpty(preset) ? {} : { default: preset }),
    ...(more.length === 0 ? only : { anyOf: forms }),
  };
}

/** Returns a schema and its shorthands as alternatives. */
function formsOf(schema: JsonSchema): JsonSchema[] {
  const { own, forms } = takeForms(schema);
  const others = forms.flatMap(formsOf);
  return Object.keys(own).length === 0 && others.length > 0
    ? others
    : [widenWithin(own), ...others];
}

/** Widens the schemas within a mapping or a list. */
function widenWithin(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties === undefined ? {} : {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, value]) => [
          key,
          typeof value === "object" ? widen(value) : value,
        ]),
      ),
    }),
    ...(typeof items === "object" && !Array.isArray(items)
      ? { items: widen(items) }
      : {}),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: widen(additionalProperties) }
      : {}),
  };
}

/** Returns true for a number, a boolean, or a text with restrictions. */
function isNarrow(schema: JsonSchema): boolean {
  const { type } = schema;
  const isScalar = type !== undefined && type !== "object" && type !== "array";
  return (isScalar || schema.enum !== undefined) && !isAnyText(schema);
}

function isAnyText(schema: JsonSchema): boolean {
  return schema.type === "string" &&
    [schema.enum, schema.const, schema.pattern].every((one) =>
      one === undefined
    );
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null &&
    Object.keys(value).length === 0;
}
