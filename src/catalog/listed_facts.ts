import { isJsonObject, type JsonObject } from "../core/json.ts";
import { type Entry, title } from "./listed_entry.ts";
import {
  type Capabilities,
  type InputFacts,
  inputFacts,
  type ModelFacts,
} from "./model_facts.ts";

/**
 * What an entry says of its model.
 *
 * @param id The provider's name of the model.
 * @param value The entry as it came.
 */
export function factsOf(
  id: string,
  entry: Entry,
  value: unknown,
): ModelFacts {
  const efforts = effortsOf(entry);
  const name = entry.display_name ?? entry.displayName ??
    (entry.id === undefined ? undefined : title.parse(entry.name));
  return {
    // Who has no name for people repeats the id.
    displayName: name === id ? undefined : name,
    createdMs: createdMsOf(entry),
    contextWindow: entry.context_length ?? entry.context_window ??
      entry.max_input_tokens ?? entry.max_context_length ??
      entry.max_model_len ?? entry.inputTokenLimit ??
      entry.top_provider?.context_length,
    maxOutputTokens: entry.max_output_tokens ?? entry.max_completion_tokens ??
      entry.max_tokens ?? entry.outputTokenLimit ??
      entry.top_provider?.max_completion_tokens,
    input: inputOf(entry),
    callsTools: toolsOf(entry),
    reasons: reasonsOf(entry, efforts),
    efforts,
    capabilities: capabilitiesOf(entry),
    codexEntry: entry.slug !== undefined && isJsonObject(value)
      ? value
      : undefined,
  };
}

/** Milliseconds since 1970; the epoch itself means that the date is not known. */
function createdMsOf({ created, created_at }: Entry): number | undefined {
  const createdMs = created_at === undefined
    ? (created ?? 0) * 1000
    : Date.parse(created_at);
  const isDate = createdMs > 0 && createdMs < MAX_DATE_MS;
  return isDate ? createdMs : undefined;
}

/** What lies beyond is no time in seconds. */
const MAX_DATE_MS = Date.UTC(2200, 0, 1);

function inputOf(entry: Entry): InputFacts | undefined {
  const modalities = entry.architecture?.input_modalities ??
    entry.input_modalities;
  if (modalities !== undefined) {
    const listed = new Set(modalities);
    return {
      ...inputFacts([]),
      text: listed.has("text"),
      image: listed.has("image"),
      pdf: listed.has("file") || listed.has("pdf"),
      audio: listed.has("audio"),
    };
  }
  const kinds = {
    image: supports(entry, "image_input") ?? supports(entry, "vision") ??
      entry.supports_image_in,
    pdf: supports(entry, "pdf_input"),
    audio: supports(entry, "audio_input") ?? supports(entry, "audio"),
  };
  const told = Object.entries(kinds).filter(([, takes]) => takes !== undefined);
  // What is asked in a conversation takes text, which nobody says.
  return told.length === 0
    ? undefined
    : { text: true, ...Object.fromEntries(told) };
}

function toolsOf(entry: Entry): boolean | undefined {
  return entry.supported_parameters?.includes("tools") ??
    supports(entry, "function_calling");
}

function reasonsOf(
  entry: Entry,
  efforts: readonly string[] | undefined,
): boolean | undefined {
  if (efforts !== undefined && efforts.length > 0) return true;
  return entry.supported_parameters?.includes("reasoning") ??
    entry.supports_reasoning ?? entry.thinking ??
    supports(entry, "thinking") ??
    supports(entry, "reasoning");
}

const EFFORT_REGEXP = /^[a-z][a-z0-9_-]{0,31}$/;

function effortsOf(entry: Entry): readonly string[] | undefined {
  const efforts = entry.reasoning?.supported_efforts ??
    entry.supported_reasoning_levels?.map(({ effort }) => effort) ??
    effortLevels(entry);
  return efforts?.filter((effort) => EFFORT_REGEXP.test(effort));
}

/** Those that Anthropic's capability of that name says are supported. */
function effortLevels({ capabilities }: Entry): string[] | undefined {
  const effort = capabilities?.effort;
  if (!isJsonObject(effort)) return undefined;
  return Object.keys(effort).filter((level) => isSupported(effort[level]));
}

/** Whether a capability is there, as Anthropic or as Mistral says it. */
function supports({ capabilities }: Entry, name: string): boolean | undefined {
  const value = capabilities?.[name];
  if (typeof value === "boolean") return value;
  return isJsonObject(value) && typeof value.supported === "boolean"
    ? value.supported
    : undefined;
}

function isSupported(value: unknown): boolean {
  return isJsonObject(value) && value.supported === true;
}

/** The gateway has no batches, whatever the provider has. */
const NOT_SERVED: ReadonlySet<string> = new Set(["batch"]);

function capabilitiesOf({ capabilities }: Entry): Capabilities | undefined {
  const told = Object.entries(capabilities ?? {}).flatMap(([name, value]) =>
    isJsonObject(value) && typeof value.supported === "boolean" &&
      CAPABILITY_REGEXP.test(name) && !NOT_SERVED.has(name)
      ? [[name, capabilityTree(value, 1)] as const]
      : []
  );
  return told.length === 0 ? undefined : Object.fromEntries(told);
}

const CAPABILITY_REGEXP = /^[a-z][a-z0-9_]{0,63}$/;

/** Capabilities have parts, and those have parts at most. */
const MAX_CAPABILITY_DEPTH = 4;

/** Truth values alone, so that nothing else of the provider's comes along. */
function capabilityTree(value: JsonObject, depth: number): Capabilities {
  const told: Record<string, Capabilities[string]> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (!CAPABILITY_REGEXP.test(name)) continue;
    if (inner === null || typeof inner === "boolean") told[name] = inner;
    else if (isJsonObject(inner) && depth < MAX_CAPABILITY_DEPTH) {
      told[name] = capabilityTree(inner, depth + 1);
    }
  }
  return told;
}
