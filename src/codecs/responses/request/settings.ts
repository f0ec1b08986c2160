import { lookup } from "@gateway/base/collections";
import {
  type JsonObject,
  type JsonValue,
  objectOf,
  present,
} from "@gateway/base/json";
import { effortOf, isEffort } from "../../canonical/request/effort.ts";
import type { Extra, Weight } from "../../canonical/content/extras.ts";
import type {
  CanonicalRequest,
  Effort,
  OutputFormat,
  ReasoningSettings,
  ServiceTier,
} from "../../canonical/request/request.ts";
import {
  decodeOutputFormat,
  decodeServiceTier as decodeTier,
} from "../../openai/settings.ts";
import { KNOWN_FIELDS, type WireRequest } from "../wire.ts";

/** Parses `text.format`; throws `invalid_request` for an unknown type. */
export function decodeFormat(
  text: WireRequest["text"],
): OutputFormat | undefined {
  const format = text?.format;
  return decodeOutputFormat(format?.type, format ?? {}, {
    field: "text.format",
  });
}

/** Returns a `text.format`, or `undefined` for free text. */
export function encodeFormat(
  format: OutputFormat | undefined,
): JsonObject | undefined {
  if (format === undefined) return undefined;
  if (format.type === "json") return { type: "json_object" };
  const { name = "output", description, schema } = format;
  const strict = format.strict === "wanted" ? undefined : format.strict;
  return {
    type: "json_schema",
    name,
    ...present({ description, strict }),
    schema,
  };
}

/**
 * Parses `reasoning`. The effort `none` becomes the mode `off`. Codex also sends the effort `ultra`, which is read as
 * `max`.
 */
export function decodeReasoning(
  wire: WireRequest["reasoning"],
): ReasoningSettings | undefined {
  if (wire === null || wire === undefined) return undefined;
  const summary = decodeSummary(wire.summary);
  if (wire.effort === "none") return { mode: "off", summary };
  const effort = decodeEffort(wire.effort);
  if (effort === undefined && summary === undefined) return undefined;
  return { effort, summary };
}

/** Returns the effort for a word, or `undefined` if the word is missing or unknown. */
function decodeEffort(word: string | null | undefined): Effort | undefined {
  if (word === "ultra") return "max";
  return isEffort(word) ? word : undefined;
}

/** Returns the form of summary for a word, or `undefined` if the word is missing or unknown. */
function decodeSummary(
  word: string | null | undefined,
): ReasoningSettings["summary"] {
  return word === "auto" || word === "concise" || word === "detailed" ||
      word === "none"
    ? word
    : undefined;
}

/** Returns the field `reasoning`, or `undefined` if the settings leave everything to the provider. */
export function encodeReasoning(
  settings: ReasoningSettings | undefined,
): JsonObject | undefined {
  if (settings === undefined) return undefined;
  const { summary } = settings;
  const fields = present({
    effort: settings.mode === "off" ? "none" : effortOf(settings),
    summary: summary === "none" ? undefined : summary,
  });
  return Object.keys(fields).length === 0 ? undefined : fields;
}

/** Parses `service_tier`. Codex's own word `ultrafast` counts as the tier `priority`. */
export function decodeServiceTier(
  word: string | null | undefined,
): ServiceTier | undefined {
  const decoded = decodeTier(word, "responses");
  return decoded && word === "ultrafast"
    ? { ...decoded, tier: "priority" }
    : decoded;
}

/** The weights of extra fields. An extra field that is missing here has the weight `report`. */
const WEIGHT_BY_FIELD: Readonly<Record<string, (value: JsonValue) => Weight>> =
  {
    include: (value) => isOnlyEncrypted(value) ? "ignore" : "report",
    store: (value) => value === false ? "ignore" : "report",
    background: () => "ignore",
    stream_options: () => "ignore",
    client_metadata: () => "ignore",
    truncation: (value) => value === "disabled" ? "ignore" : "report",
    top_logprobs: (value) => value === 0 ? "ignore" : "reject",
    user: () => "ignore",
  };

/** Returns true when `include` requests only encrypted reasoning. The gateway handles this request itself. */
function isOnlyEncrypted(include: JsonValue): boolean {
  return Array.isArray(include) &&
    include.every((wish) => wish === "reasoning.encrypted_content");
}

/**
 * Returns the fields that have no place in the canonical form. A field inside an object has a dotted name, such as
 * `text.…`.
 */
export function decodeExtras(body: JsonObject): Record<string, Extra> {
  const extras: Record<string, Extra> = {};
  const add = (name: string, value: JsonValue | undefined, weight: Weight) => {
    if (value !== null && value !== undefined) extras[name] = { value, weight };
  };
  for (const [field, value] of Object.entries(body)) {
    if (value === null || value === undefined || KNOWN_FIELDS.has(field)) {
      continue;
    }
    add(field, value, lookup(WEIGHT_BY_FIELD, field)?.(value) ?? "report");
  }
  for (const [field, value] of Object.entries(objectOf(body.text))) {
    if (field === "format" || field === "verbosity") continue;
    add(`text.${field}`, value, "report");
  }
  for (const [field, value] of Object.entries(objectOf(body.reasoning))) {
    if (isReasoningKnown(field, value)) continue;
    add(`reasoning.${field}`, value, "report");
  }
  return extras;
}

/** Returns false for a word that the canonical form cannot express. Such a word becomes an extra. */
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

/**
 * Returns the request's extras as fields of a body. An extra with a dotted name is added to the object that `body`
 * already has.
 */
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
      : { ...objectOf(fields[outer] ?? body[outer]), [inner]: value };
  }
  return fields;
}
