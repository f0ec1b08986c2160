import type { JsonObject } from "../../../core/json.ts";
import { invalidField } from "./invalid_request.ts";
import type { OutputFormat } from "./request.ts";

/** The fields of a schema as OpenAI's protocols spell them. */
export interface WireSchema {
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
