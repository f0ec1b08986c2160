import { isJsonObject, type JsonObject } from "../../../core/json.ts";

/**
 * Removes the `encrypted` keyword of arguments that OpenAI's models must encrypt. No other protocol has it. Models that
 * cannot encrypt reject it: "declares encrypted parameters, but the selected model is not configured".
 *
 * Sources: https://github.com/openai/codex/pull/26210, https://github.com/decolua/9router/issues/1758
 *
 * @returns The schema itself when it has no such keyword.
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
