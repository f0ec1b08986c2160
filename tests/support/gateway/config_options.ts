import type { JsonSchema } from "../../../src/config/schema/fields.ts";
import { configJsonSchema } from "../../../src/config/schema/json_schema.ts";

/** An option of the configuration, as its schema declares it. */
export interface ConfigOption {
  /** Such as `server.port`, or `connections[].models[].id` below a list. */
  readonly path: string;
  /** What the schema says of it; "" where it says nothing. */
  readonly description: string;
  /** `undefined` where there is none, or where it is made of other options. */
  readonly preset: unknown;
  /** Whether it holds a value, and not further options. */
  readonly isLeaf: boolean;
}

/** Every option that a schema knows, in its order, the mappings and lists that hold others before them. */
export function configOptions(
  schema: JsonSchema = configJsonSchema(),
): readonly ConfigOption[] {
  return optionsBelow(schema, "");
}

function optionsBelow(schema: JsonSchema, prefix: string): ConfigOption[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) =>
    typeof value === "object" ? optionAt(value, prefix + key) : []
  );
}

function optionAt(schema: JsonSchema, path: string): ConfigOption[] {
  const forms = [schema, ...(schema.anyOf ?? []).map(plain)];
  const inner = [
    ...forms.flatMap((form) => optionsBelow(form, `${path}.`)),
    ...forms.flatMap(itemForms).flatMap((form) =>
      optionsBelow(form, `${path}[].`)
    ),
  ];
  const { description = "", default: preset } = schema;
  return [{ path, description, preset, isLeaf: inner.length === 0 }, ...inner];
}

/** The forms of what a list holds; none where it is no list. */
function itemForms({ items }: JsonSchema): readonly JsonSchema[] {
  if (typeof items !== "object" || Array.isArray(items)) return [];
  const item = plain(items);
  return [item, ...(item.anyOf ?? []).map(plain)];
}

function plain(schema: JsonSchema | boolean): JsonSchema {
  return typeof schema === "object" ? schema : {};
}
