import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { invalidField } from "./invalid_request.ts";
import type { OutputFormat } from "./request.ts";

/** The schema of a function's arguments as every upstream takes it: an object with properties, no `$schema`. */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  const { $schema: _dialect, ...rest } = schema ?? {};
  if (rest.type !== undefined && rest.type !== "object") return rest;
  const combined = "anyOf" in rest || "oneOf" in rest || "allOf" in rest ||
    "$ref" in rest;
  return {
    ...rest,
    type: "object",
    ...(rest.properties === undefined && !combined ? { properties: {} } : {}),
  };
}

/**
 * Whether `strict` may be asked of an OpenAI-style upstream: every object is closed and requires all its
 * properties. It refuses anything else with 400.
 */
export function isClosedSchema(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isClosedSchema);
  if (!isJsonObject(schema)) return true;
  if (
    isJsonObject(schema.properties) &&
    !isClosedObject(schema, schema.properties)
  ) return false;
  return Object.values(schema).every(isClosedSchema);
}

function isClosedObject(schema: JsonObject, properties: JsonObject): boolean {
  const { required } = schema;
  return schema.additionalProperties === false &&
    Object.keys(properties).every((key) =>
      Array.isArray(required) && required.includes(key)
    );
}

/** The fields of a schema as OpenAI's protocols spell them. */
interface WireSchema {
  readonly schema?: JsonObject | null | undefined;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly strict?: boolean | null | undefined;
}

/**
 * Reads an output format, whose words are the same in both of OpenAI's protocols.
 *
 * @param type The format's own `type`.
 * @param wire Its schema, wherever the protocol puts that.
 * @param field Where the format stands in the request.
 * @throws {GatewayError} `invalid_request` for an unknown type.
 */
export function decodeOutputFormat(
  type: string | undefined,
  wire: WireSchema,
  { field }: { readonly field: string },
): OutputFormat | undefined {
  switch (type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return { type: "json" };
    case "json_schema":
      return {
        type: "schema",
        schema: wire.schema ?? {},
        name: wire.name ?? undefined,
        description: wire.description ?? undefined,
        strict: wire.strict ?? undefined,
      };
    default:
      throw invalidField(
        `${field}.type`,
        "is none of text, json_object, json_schema",
      );
  }
}
