import type { JsonObject } from "../../core/json.ts";
import type { Tool } from "./ask.ts";
import { Refusal } from "../refusal.ts";

/**
 * Refuses a body that holds a field of another protocol, as OpenAI does with fields that it does not know.
 *
 * @throws {Refusal} For the first field of `foreign` that `body` has.
 */
export function refuseForeignFields(
  body: JsonObject,
  foreign: readonly string[],
): void {
  const found = foreign.find((name) => body[name] !== undefined);
  if (found === undefined) return;
  throw new Refusal("invalid", `Unknown parameter: '${found}'.`, {
    param: found,
    code: "unknown_parameter",
  });
}

const NAME_REGEXP = /^[a-zA-Z0-9_-]+$/;

const MAX_NAME_LENGTH = 64;

/**
 * Refuses tools whose names OpenAI does not take.
 *
 * @param path Where the name stands inside a tool, for the error.
 * @throws {Refusal} For a name that is missing, longer than 64 characters, or with other characters than
 * letters, digits, underscores and dashes.
 */
export function checkToolNames(tools: readonly Tool[], path: string): void {
  for (const [index, { name }] of tools.entries()) {
    const param = `tools[${index}].${path}`;
    if (name === "") {
      throw new Refusal("invalid", `Missing required parameter: '${param}'.`, {
        param,
        code: "missing_required_parameter",
      });
    }
    if (name.length > MAX_NAME_LENGTH) {
      throw new Refusal(
        "invalid",
        `Invalid '${param}': string too long. Expected a string with maximum length ${MAX_NAME_LENGTH}, but got a string with length ${name.length} instead.`,
        { param, code: "string_above_max_length" },
      );
    }
    if (!NAME_REGEXP.test(name)) {
      throw new Refusal(
        "invalid",
        `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        { param, code: "invalid_value" },
      );
    }
  }
}
