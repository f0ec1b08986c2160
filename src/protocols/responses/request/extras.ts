import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { lookup } from "../../../core/collections/lookup.ts";
import type { Extra, Weight } from "../../canonical/request/extras.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { decodeEffort, decodeSummary } from "./settings.ts";

/** Fields that have a canonical place. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_output_tokens",
  "temperature",
  "top_p",
  "service_tier",
  "prompt_cache_key",
  "metadata",
  // Looked at field by field.
  "text",
  "reasoning",
]);

/** Fields without a canonical place whose loss does not weigh as a hint. */
const WEIGHT_BY_FIELD: Readonly<Record<string, (value: JsonValue) => Weight>> =
  {
    include: (value) => isOnlyEncrypted(value) ? "silent" : "hint",
    store: (value) => value === false ? "silent" : "hint",
    background: () => "silent",
    stream_options: () => "silent",
    client_metadata: () => "silent",
    truncation: (value) => value === "disabled" ? "silent" : "hint",
    top_logprobs: (value) => value === 0 ? "silent" : "answer",
    user: () => "silent",
  };

/** The gateway itself cares for encrypted reasoning. */
function isOnlyEncrypted(include: JsonValue): boolean {
  return Array.isArray(include) &&
    include.every((wish) => wish === "reasoning.encrypted_content");
}

/** The fields of a request that have no canonical place; those of `text` and `reasoning` under dotted names. */
export function decodeExtras(body: JsonObject): Record<string, Extra> {
  const extras: Record<string, Extra> = {};
  const add = (name: string, value: JsonValue | undefined, weight: Weight) => {
    if (value !== null && value !== undefined) extras[name] = { value, weight };
  };
  for (const [field, value] of Object.entries(body)) {
    if (value === null || value === undefined || KNOWN_FIELDS.has(field)) {
      continue;
    }
    add(field, value, weightOf(field, value, body));
  }
  for (const [field, value] of Object.entries(objectIn(body.text))) {
    if (field === "format" || field === "verbosity") continue;
    add(`text.${field}`, value, "hint");
  }
  for (const [field, value] of Object.entries(objectIn(body.reasoning))) {
    if (isReasoningKnown(field, value)) continue;
    add(`reasoning.${field}`, value, "hint");
  }
  return extras;
}

function weightOf(field: string, value: JsonValue, body: JsonObject): Weight {
  if (field === "safety_identifier") {
    const { user } = body;
    return typeof user === "string" && user !== value ? "hint" : "silent";
  }
  return lookup(WEIGHT_BY_FIELD, field)?.(value) ?? "hint";
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A word that the canonical form cannot say stays beside it. */
function isReasoningKnown(
  field: string,
  value: JsonValue | undefined,
): boolean {
  if (typeof value !== "string") return false;
  if (field === "effort") {
    return value === "none" || decodeEffort(value) === value;
  }
  return field === "summary" && decodeSummary(value) !== undefined;
}

/** The request's own extras as fields of a body; those with dotted names go inside what `body` has there. */
export function encodeExtras(
  request: CanonicalRequest,
  body: JsonObject,
): JsonObject {
  const fields: JsonObject = {};
  for (
    const [name, { value }] of Object.entries(request.extras.responses ?? {})
  ) {
    const [outer = "", inner] = name.split(".");
    fields[outer] = inner === undefined
      ? value
      : { ...objectIn(fields[outer] ?? body[outer]), [inner]: value };
  }
  return fields;
}
