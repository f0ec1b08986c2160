import { type JsonObject, present } from "../../../core/json.ts";
import { lookup } from "../../../core/collections/lookup.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { decodeOutputFormat } from "../../canonical/request/output_format.ts";
import { effortOfBudget, isEffort } from "../../canonical/answer/reasoning.ts";
import type {
  CanonicalRequest,
  Effort,
  OutputFormat,
  ReasoningSettings,
  ServiceTier,
} from "../../canonical/request/request.ts";
import type { WireRequest } from "../wire.ts";

/**
 * Reads `text.format`.
 *
 * @throws {GatewayError} `invalid_request` for an unknown type.
 */
export function decodeFormat(
  text: WireRequest["text"],
): OutputFormat | undefined {
  const format = text?.format;
  return decodeOutputFormat(format?.type, format ?? {}, {
    field: "text.format",
  });
}

/** Writes a `text.format`; `undefined` for free text. */
export function encodeFormat(
  format: OutputFormat | undefined,
  fitSchema: (schema: JsonObject) => JsonObject = (schema) => schema,
): JsonObject | undefined {
  if (format === undefined) return undefined;
  if (format.type === "json") return { type: "json_object" };
  const { schema, name, description, strict } = format;
  return {
    type: "json_schema",
    name: name ?? "output",
    ...present({ description, strict }),
    schema: fitSchema(schema),
  };
}

/**
 * Reads `text.verbosity`.
 *
 * @throws {GatewayError} `invalid_request` for an unknown word.
 */
export function decodeVerbosity(
  text: WireRequest["text"],
): CanonicalRequest["verbosity"] {
  const word = text?.verbosity ?? undefined;
  if (
    word === undefined || word === "low" || word === "medium" || word === "high"
  ) return word;
  throw invalidField("text.verbosity", "is none of low, medium, high");
}

/** Reads `reasoning`. Effort `none` is the mode `off`; Codex knows one above the highest. */
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

/** The effort that a word means; `undefined` for none and for an unknown one. */
export function decodeEffort(
  word: string | null | undefined,
): Effort | undefined {
  if (word === "ultra") return "max";
  return isEffort(word) ? word : undefined;
}

/** The summary that a word asks for; `undefined` for none and for an unknown one. */
export function decodeSummary(
  word: string | null | undefined,
): ReasoningSettings["summary"] {
  return word === "auto" || word === "concise" || word === "detailed" ||
      word === "none"
    ? word
    : undefined;
}

/** Writes `reasoning`; `undefined` where the upstream's own defaults are wanted. */
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

function effortOf(
  { effort, budgetTokens }: ReasoningSettings,
): Effort | undefined {
  if (effort !== undefined) return effort;
  return budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens);
}

const TIER_BY_WORD: Readonly<Record<string, ServiceTier["tier"]>> = {
  auto: "auto",
  default: "standard",
  flex: "flex",
  priority: "priority",
  fast: "priority",
  ultrafast: "priority",
  scale: "priority",
};

/** Reads `service_tier`. */
export function decodeServiceTier(
  word: string | null | undefined,
): ServiceTier | undefined {
  if (word === null || word === undefined) return undefined;
  return {
    tier: lookup(TIER_BY_WORD, word) ?? "auto",
    raw: { protocol: "responses", value: word },
  };
}

/** Writes `service_tier`. */
export function encodeServiceTier({ tier, raw }: ServiceTier): string {
  if (raw.protocol === "responses") return raw.value;
  return tier === "standard" ? "default" : tier;
}
