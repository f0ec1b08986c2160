import { z } from "zod";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import {
  type Capabilities,
  type InputFacts,
  inputFacts,
  type ModelFacts,
} from "./model_facts.ts";

/** The longest name of a model. */
const MAX_TEXT_LENGTH = 256;

/** A name from the provider, for programs. */
const text = loose(
  z.string().min(1).max(MAX_TEXT_LENGTH).regex(/^[^\p{Cc}\u2028\u2029]+$/u),
);
const size = loose(z.number().int().positive().max(1e12));
/** A boolean. */
const flag = loose(z.boolean());
/**
 * A name for people and for the settings of clients. Clients may interpret braces and dollars: opencode replaces
 * `{file:…}` in its configuration by the content of the file (https://opencode.ai/docs/config/#variables).
 */
const title = loose(
  z.string().min(1).max(MAX_TEXT_LENGTH)
    .regex(/^[^\p{Cc}\p{Cf}\u2028\u2029{}$`]+$/u),
);
const texts = loose(z.array(z.string().max(MAX_TEXT_LENGTH)).max(1000));

/** Makes a field optional. An unexpected value counts as absent and does not invalidate the other fields. */
function loose<Schema extends z.ZodType>(
  schema: Schema,
): z.ZodCatch<z.ZodOptional<Schema>> {
  return schema.optional().catch(undefined);
}

/**
 * The facts in the providers' lists of models. Each provider has different fields:
 *
 * - Anthropic (https://platform.claude.com/docs/en/api/models/list): `display_name`, `created_at`, `max_input_tokens`,
 *   `max_tokens`, `capabilities` with `{"supported": …}` below each name
 * - OpenRouter (https://openrouter.ai/docs/models): `name`, `created`, `context_length`, `top_provider`,
 *   `architecture`, `supported_parameters`, `reasoning`
 * - Mistral (https://docs.mistral.ai/api/endpoint/models): `name`, `max_context_length`, `capabilities` with a boolean
 *   below each name
 * - Groq (https://console.groq.com/docs/models): `context_window`, `max_completion_tokens`
 * - Moonshot and Kimi (https://platform.kimi.ai/docs/api/list-models): `context_length`, `supports_image_in`,
 *   `supports_reasoning`
 * - Google (https://ai.google.dev/api/models): `name` after `models/`, `displayName`, `inputTokenLimit`,
 *   `outputTokenLimit`, `thinking`
 * - vLLM: `max_model_len`
 * - Codex (https://github.com/openai/codex, `ModelInfo`): `slug`, `display_name`, `context_window`, `input_modalities`,
 *   `supported_reasoning_levels`
 * - another instance of this program: the fields of its own list
 */
const entrySchema = z.object({
  id: text,
  slug: text,
  display_name: title,
  name: text,
  displayName: title,
  created: size,
  created_at: loose(z.iso.datetime({ offset: true })),
  context_length: size,
  context_window: size,
  max_input_tokens: size,
  max_context_length: size,
  max_model_len: size,
  inputTokenLimit: size,
  max_tokens: size,
  max_output_tokens: size,
  max_completion_tokens: size,
  outputTokenLimit: size,
  top_provider: loose(
    z.object({ context_length: size, max_completion_tokens: size }),
  ),
  architecture: loose(z.object({ input_modalities: texts })),
  input_modalities: texts,
  supports_image_in: flag,
  supports_reasoning: flag,
  thinking: flag,
  supported_parameters: texts,
  reasoning: loose(z.object({ supported_efforts: texts })),
  supported_reasoning_levels: loose(
    z.array(z.object({ effort: z.string().max(MAX_TEXT_LENGTH) })).max(100),
  ),
  capabilities: loose(z.record(z.string(), z.unknown())),
});

/** The known fields of a list's entry. */
type Entry = z.output<typeof entrySchema>;

/** A page of a provider's list. */
export interface ModelPage {
  /** The entries, by the provider's name of the model. */
  readonly models: ReadonlyMap<string, ModelFacts>;
  /** The number of entries. */
  readonly count: number;
  /** The query of the next page; `undefined` on the last page. */
  readonly next: PageQuery | undefined;
}

/** The query of a further page. */
export type PageQuery =
  | { readonly after_id: string }
  | { readonly pageToken: string }
  /** The next page starts after the entries that were read. */
  | { readonly offset: "read" };

/** Entries are parsed one by one, because there may be very many. */
const entriesSchema = z.custom<readonly unknown[]>(Array.isArray);

/** A page is an array of entries, or an object that holds the array under `data` or `models`. */
const pageSchema = z.union([
  entriesSchema.transform((data) => ({ data })),
  z.object({
    data: entriesSchema,
    has_more: flag,
    last_id: text,
    links: loose(z.object({ next: text })),
  }),
  z.object({ models: entriesSchema, nextPageToken: text })
    .transform(({ models, ...page }) => ({ ...page, data: models })),
]);

/**
 * Parses a page of a provider's list of models, in any provider's shape.
 *
 * @param wanted The provider's names of the models to keep. Of other models, only the name is parsed, because a list
 * may have any length.
 * @returns `undefined` when the body is not such a list.
 */
export function readModelPage(
  body: JsonValue,
  wanted: ReadonlySet<string>,
): ModelPage | undefined {
  const { success, data: page } = pageSchema.safeParse(body);
  if (!success) return undefined;
  const models = new Map<string, ModelFacts>();
  for (const value of page.data) {
    const id = isJsonObject(value) ? idOf(value) : undefined;
    if (id === undefined || !wanted.has(id) || models.has(id)) continue;
    const { data: entry } = entrySchema.safeParse(value);
    if (entry !== undefined) models.set(id, factsOf(id, entry, value));
  }
  return { models, count: page.data.length, next: nextOf(page) };
}

/** Returns the id of an entry. For Google, the id is the end of the model's resource path. */
function idOf({ id, slug, name }: JsonObject): string | undefined {
  if (typeof id === "string") return id;
  if (typeof slug === "string") return slug;
  return typeof name === "string" ? name.replace(/^models\//, "") : undefined;
}

/** A page of any shape. */
interface Page {
  readonly data: readonly unknown[];
  readonly has_more?: boolean | undefined;
  readonly last_id?: string | undefined;
  readonly links?: { readonly next?: string | undefined } | undefined;
  readonly nextPageToken?: string | undefined;
}

function nextOf(
  { has_more, last_id, links, nextPageToken }: Page,
): PageQuery | undefined {
  if (has_more === true && last_id !== undefined) return { after_id: last_id };
  if (nextPageToken !== undefined) return { pageToken: nextPageToken };
  return links?.next === undefined ? undefined : { offset: "read" };
}

/**
 * Returns the facts in an entry.
 *
 * @param id The provider's name of the model.
 * @param value The entry before parsing.
 */
function factsOf(
  id: string,
  entry: Entry,
  value: unknown,
): ModelFacts {
  const efforts = effortsOf(entry);
  const name = entry.display_name ?? entry.displayName ??
    (entry.id === undefined ? undefined : title.parse(entry.name));
  return {
    // Models without a name for people repeat the id.
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

/** Returns the date in milliseconds since 1970. A date of 0 means that the date is unknown. */
function createdMsOf({ created, created_at }: Entry): number | undefined {
  const createdMs = created_at === undefined
    ? (created ?? 0) * 1000
    : Date.parse(created_at);
  const isDate = createdMs > 0 && createdMs < MAX_DATE_MS;
  return isDate ? createdMs : undefined;
}

/** The latest plausible date. A later date was probably not sent in seconds and is ignored. */
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
  const stated = Object.entries(kinds).filter(([, takes]) =>
    takes !== undefined
  );
  // Lists do not mention text, but every model in a conversation accepts text.
  return stated.length === 0
    ? undefined
    : { text: true, ...Object.fromEntries(stated) };
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

/** Returns the levels that Anthropic's capability `effort` marks as supported. */
function effortLevels({ capabilities }: Entry): string[] | undefined {
  const effort = capabilities?.effort;
  if (!isJsonObject(effort)) return undefined;
  return Object.keys(effort).filter((level) => isSupported(effort[level]));
}

/** Returns true when a model has a capability, in Anthropic's or Mistral's form; `undefined` when unknown. */
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

/** Capabilities that are left out, because the gateway does not offer these capabilities. */
const NOT_SERVED: ReadonlySet<string> = new Set(["batch"]);

function capabilitiesOf({ capabilities }: Entry): Capabilities | undefined {
  const stated = Object.entries(capabilities ?? {}).flatMap(([name, value]) =>
    isJsonObject(value) && typeof value.supported === "boolean" &&
      CAPABILITY_REGEXP.test(name) && !NOT_SERVED.has(name)
      ? [[name, capabilityTree(value, 1)] as const]
      : []
  );
  return stated.length === 0 ? undefined : Object.fromEntries(stated);
}

const CAPABILITY_REGEXP = /^[a-z][a-z0-9_]{0,63}$/;

/** The largest number of nested levels of a capability that are copied. Real capabilities have three levels. */
const MAX_CAPABILITY_DEPTH = 4;

/** Copies only the booleans of a capability, so that no other data of the provider is passed on. */
function capabilityTree(value: JsonObject, depth: number): Capabilities {
  const stated: Record<string, Capabilities[string]> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (!CAPABILITY_REGEXP.test(name)) continue;
    if (inner === null || typeof inner === "boolean") stated[name] = inner;
    else if (isJsonObject(inner) && depth < MAX_CAPABILITY_DEPTH) {
      stated[name] = capabilityTree(inner, depth + 1);
    }
  }
  return stated;
}
