import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import {
  claudeRowFor,
  parseClaudeModel,
} from "../../src/codecs/dialects/claude_models.ts";
import {
  EFFORT_WORDS,
  type EffortWord,
} from "../../src/codecs/canonical/request/effort.ts";
import { CHAT_PROVIDERS } from "../../src/codecs/dialects/chat_providers.ts";
import { openAiModelRules } from "../../src/codecs/dialects/openai_models.ts";
import { dialectOf as chatDialectOf } from "../../src/codecs/chat/dialect.ts";
import { dialectOf as messagesDialectOf } from "../../src/codecs/messages/dialect.ts";

/** The services of this program for the providers of the public table. Others are not compared. */
const SERVICES: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  bedrock_converse: "bedrock-claude",
  bedrock_mantle: "bedrock-claude",
  gemini: "gemini",
  moonshot: "moonshot",
  deepseek: "deepseek",
  zai: "zai",
  xai: "xai",
  mistral: "mistral",
  minimax: "minimax",
  cerebras: "cerebras",
  groq: "groq",
  fireworks_ai: "fireworks",
  together_ai: "together",
};

/** The flags of the table that name one effort each. */
const EFFORT_FLAGS: readonly (readonly [string, EffortWord])[] = [
  ["supports_none_reasoning_effort", "none"],
  ["supports_minimal_reasoning_effort", "minimal"],
  ["supports_low_reasoning_effort", "low"],
  ["supports_xhigh_reasoning_effort", "xhigh"],
  ["supports_max_reasoning_effort", "max"],
];

/** A public table, compared with the tables of this program. */
export interface Comparison {
  /** The number of models in both tables. */
  readonly compared: number;
  /** One line for each difference: service, model, subject, the table's value and this program's. */
  readonly differences: readonly string[];
}

/**
 * Compares a public table of models (LiteLLM's `model_prices_and_context_window_backup.json`) with the rows of the
 * dialects: efforts, sampling, prefill, output limits, pictures in results, schemas, forced and parallel calls.
 */
export function compareTable(table: JsonObject): Comparison {
  const found = new Set<string>();
  let compared = 0;
  for (const [name, entry] of Object.entries(table)) {
    if (!isJsonObject(entry)) continue;
    const { litellm_provider: provider, mode } = entry;
    const service = SERVICES[String(provider)];
    if (service === undefined || (mode !== "chat" && mode !== "responses")) {
      continue;
    }
    const model = name.replace(`${String(provider)}/`, "");
    const lines = isClaude(model)
      ? compareClaude(service, model, entry)
      : service === "bedrock-claude"
      ? undefined
      : compareChat(service, model, entry);
    if (lines === undefined) continue;
    compared++;
    for (const line of lines) found.add(`${service} ${model} ${line}`);
  }
  return { compared, differences: [...found].sort() };
}

function isClaude(model: string): boolean {
  return parseClaudeModel(model) !== undefined;
}

function compareClaude(
  service: string,
  model: string,
  entry: JsonObject,
): string[] {
  const claude = parseClaudeModel(model);
  const row = claude && claudeRowFor(claude);
  if (row === undefined) return [];
  const { reasoning, sampling, continues, schemas, tools, turns, limits } =
    messagesDialectOf({ service, model, endpoints: {} }).ability;
  return [
    ...(service === "anthropic"
      ? effortLines(reasoning.efforts ?? [], entry)
      : []),
    ...flagLine(
      "sampling",
      sampling.free !== "never",
      entry.supports_sampling_params,
    ),
    ...flagLine("prefill", continues, entry.supports_assistant_prefill),
    ...flagLine(
      "schemas",
      schemas.formatSchemas,
      entry.supports_native_structured_output,
    ),
    ...flagLine(
      "forced tools",
      tools.force !== "never",
      entry.supports_forced_tool_use,
    ),
    ...flagLine(
      "system messages anywhere",
      turns.systemAnywhere,
      entry.supports_mid_conversation_system,
    ),
    ...(service === "anthropic" &&
        typeof entry.max_output_tokens === "number" &&
        entry.max_output_tokens !== limits.mostOutputTokens
      ? [
        `output limit: ${entry.max_output_tokens}, here ${limits.mostOutputTokens}`,
      ]
      : []),
  ];
}

function compareChat(
  service: string,
  model: string,
  entry: JsonObject,
): string[] {
  const { ability, reasoning } = chatDialectOf({ service, model });
  const hasRows = CHAT_PROVIDERS.some(({ services, families }) =>
    services.includes(service) && families !== undefined
  );
  const efforts = openAiModelRules({ service, model })?.efforts ??
    (hasRows ? ability.reasoning.efforts : undefined);
  return [
    ...(efforts === undefined ? [] : effortLines(efforts, entry)),
    ...(reasoning === "switch"
      ? flagLine(
        "sampling",
        ability.sampling.free !== "never",
        entry.supports_sampling_params,
      )
      : []),
    ...(service === "deepseek"
      ? flagLine(
        "pictures",
        ability.turns.mediaOfResults,
        entry.supports_vision,
      )
      : []),
    ...(service === "openai" && /^o\d/.test(model)
      ? flagLine(
        "parallel calls",
        false,
        entry.supports_parallel_function_calling,
      )
      : []),
    ...(service === "groq"
      ? flagLine(
        "schemas",
        ability.schemas.formatSchemas,
        entry.supports_response_schema,
      )
      : []),
  ];
}

function flagLine(subject: string, ours: boolean, theirs: unknown): string[] {
  return typeof theirs !== "boolean" || ours === theirs
    ? []
    : [`${subject}: ${theirs}, here ${ours}`];
}

/** Returns the efforts that only the table has (+) or that only this program has (-). */
function effortLines(
  ours: readonly EffortWord[],
  entry: JsonObject,
): string[] {
  const levels = entry.reasoning_effort_levels;
  const known = new Map<EffortWord, boolean>();
  if (Array.isArray(levels)) {
    for (const word of EFFORT_WORDS) known.set(word, levels.includes(word));
  } else {
    for (const [flag, word] of EFFORT_FLAGS) {
      const value = entry[flag];
      if (typeof value === "boolean") known.set(word, value);
    }
  }
  const changed = [...known].filter(([word, has]) =>
    has !== ours.includes(word)
  )
    .map(([word, has]) => `${has ? "+" : "-"}${word}`);
  return changed.length === 0 ? [] : [`efforts: ${changed.join(" ")}`];
}

/** The faults of the decisions about differences. */
export interface Judgement {
  /** Differences without a decision. */
  readonly undecided: readonly string[];
  /** Decisions about differences that no longer exist. */
  readonly stale: readonly string[];
}

/**
 * Compares differences with the decisions about them.
 *
 * @param decided The lines of the differences that have a reason.
 */
export function judge(
  differences: readonly string[],
  decided: readonly string[],
): Judgement {
  return {
    undecided: differences.filter((line) => !decided.includes(line)),
    stale: decided.filter((line) => !differences.includes(line)),
  };
}
