import type { JsonObject } from "../../../src/base/json.ts";

/** Returns the schema of an object with one required text, which also fits strict tools. */
export function closedSchema(name: string): JsonObject {
  return {
    type: "object",
    properties: { [name]: { type: "string" } },
    required: [name],
    additionalProperties: false,
  };
}
