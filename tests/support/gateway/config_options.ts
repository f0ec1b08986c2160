import type { JsonSchema } from "../../../src/gateway/config/schema/fields.ts";
import { configJsonSchema } from "../../../src/gateway/config/schema/json_schema.ts";

/** An option of the configuration, as its schema declares it. */
export interface ConfigOption {
  /** The path, such as `server.port`, or `connections[].models[].id` below a list. */
  readonly path: string;
  /** The description in the schema; empty when there is none. */
  readonly description: string;
  /** The default; `undefined` when there is none, or when it depends on other options. */
  readonly preset: unknown;
  /** True when it holds a value instead of further options. */
  readonly isLeaf: boolean;
  /** True when its value, or a value inside it, may be a secret. */
  readonly isSecret: boolean;
  /** The JSON types that it accepts, or its list of allowed words. */
  readonly forms: readonly JsonSchema[];
}

/** Returns the options of a schema in its order; mappings and lists come before the options inside them. */
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
  const isLeaf = inner.length === 0;
  const isSecret = isLeaf &&
    JSON.stringify(schema).includes('"writeOnly":true');
  const option = { path, description, preset, isLeaf, isSecret, forms };
  return [option, ...inner];
}

/** Returns the schemas of a list's items; none when it is not a list. */
function itemForms({ items }: JsonSchema): readonly JsonSchema[] {
  if (typeof items !== "object" || Array.isArray(items)) return [];
  const item = plain(items);
  return [item, ...(item.anyOf ?? []).map(plain)];
}

function plain(schema: JsonSchema | boolean): JsonSchema {
  return typeof schema === "object" ? schema : {};
}
