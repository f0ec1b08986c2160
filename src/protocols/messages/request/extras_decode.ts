import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pickFields,
} from "../../../core/json.ts";
import type { Extra, Weight } from "../../canonical/request/extras.ts";
import { isEffort } from "../../canonical/answer/reasoning.ts";
import { otherFields } from "./fields.ts";

/** Fields that have a canonical place. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "stream",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "output_format",
  "stop_sequences",
  "temperature",
  "top_p",
  "top_k",
  "service_tier",
  "metadata",
  "cache_control",
  "thread",
]);

/** Keeps the fields that have no canonical place, with what their loss means. */
export function decodeExtras(body: JsonObject): Record<string, Extra> {
  const others = {
    ...otherFields(body, KNOWN_FIELDS),
    ...innerFields(body, "metadata", (field) => field === "user_id"),
    ...innerFields(
      body,
      "output_config",
      (field, value) =>
        field === "format" || field === "effort" && isEffort(value),
    ),
  };
  return Object.fromEntries(
    Object.entries(others).flatMap(([field, value]) =>
      value === undefined
        ? []
        : [[field, { value, weight: weightOf(field, value) }]]
    ),
  );
}

/** What it means to leave out a field without a canonical place. */
function weightOf(field: string, value: JsonValue): Weight {
  switch (field) {
    case "mcp_servers":
      // Without its servers the conversation would be another one.
      return isEmptyList(value) ? "silent" : "answer";
    case "inference_geo":
      // Where a request is worked on may be a matter of law.
      return "answer";
    case "speed":
      return value === "standard" ? "silent" : "hint";
    default:
      return "hint";
  }
}

/** What of a field that is an object has no canonical place, under the same name. */
function innerFields(
  body: JsonObject,
  field: "metadata" | "output_config",
  isKnown: (field: string, value: JsonValue | undefined) => boolean,
): JsonObject {
  const object = body[field];
  if (!isJsonObject(object)) return {};
  const rest = pickFields(
    object,
    (name, value) => !isKnown(name, value) && value !== null,
  );
  return Object.keys(rest).length === 0 ? {} : { [field]: rest };
}

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}
