import { isJsonObject, type JsonObject } from "../../../core/json.ts";

/**
 * Leaves out of a schema which arguments OpenAI's models shall encrypt. No other protocol has such a keyword, and
 * models that cannot encrypt refuse it: "declares encrypted parameters, but the selected model is not configured".
 *
 * Sources: https://github.com/openai/codex/pull/26210, https://github.com/decolua/9router/issues/1758
 *
 * @returns The schema itself where nothing shall be encrypted.
 */
export function plainParameters(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const entries = Object.entries(properties);
  if (!entries.some(([, property]) => isEncrypted(property))) return schema;
  return {
    ...schema,
    properties: Object.fromEntries(entries.map(([name, property]) => {
      if (!isEncrypted(property)) return [name, property];
      const { encrypted: _keyword, ...rest } = property;
      return [name, rest];
    })),
  };
}

function isEncrypted(property: unknown): property is JsonObject {
  return isJsonObject(property) && property.encrypted === true;
}
