import type { Target } from "../canonical/codec.ts";
import {
  ALL_SCHEMAS,
  type SchemaSubset,
} from "../canonical/schema/schema_subset.ts";
import { parseClaudeModel } from "./claude_models.ts";
import { openAiModelRules, SCHEMA_SOURCES } from "./openai_models.ts";

/** The schemas that OpenAI's endpoints and models accept. */
const OPENAI: SchemaSubset = {
  ...ALL_SCHEMAS,
  plainRoot: true,
  patterns: "portable",
};

interface SubsetRow {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  readonly subset: SchemaSubset;
}

/** The services that accept only some schemas. Their restrictions apply in every protocol. */
const SCHEMA_SUBSETS: readonly SubsetRow[] = [
  {
    services: ["openai", "openai-chat", "codex", "azure"],
    sources: SCHEMA_SOURCES,
    subset: OPENAI,
  },
  {
    services: ["kimi", "moonshot"],
    sources: [
      // "when using anyOf, type should be defined in anyOf items instead of the parent schema"
      "https://github.com/MoonshotAI/kimi-cli/issues/1595",
      // "conflicting keywords found after $ref expansion: description"
      "https://github.com/MoonshotAI/kimi-cli/issues/2061",
      "https://github.com/MoonshotAI/walle/blob/main/docs/mfjs-spec.md",
      // "schema depth exceeds maximum limit of 10"
      "https://github.com/anomalyco/opencode/issues/25495",
    ],
    subset: { ...ALL_SCHEMAS, plainRoot: true, isMoonshot: true },
  },
  {
    services: ["llamacpp", "lmstudio", "ollama"],
    sources: [
      // "Pattern must start with '^' and end with '$'"
      "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2168",
      "https://github.com/ggml-org/llama.cpp/issues/27397",
      "https://github.com/ggml-org/llama.cpp/issues/27580",
      // "failed to parse grammar"
      "https://github.com/ollama/ollama/issues/18226",
    ],
    subset: { ...ALL_SCHEMAS, patterns: "grammar" },
  },
];

/**
 * Returns the schemas that a target accepts. They are the same in every protocol. The limits of OpenAI's and Claude's
 * models hold at every provider.
 */
export function schemaSubsetOf(
  { service, model }: Pick<Target, "service" | "model">,
): SchemaSubset {
  if (openAiModelRules({ service, model }) !== undefined) return OPENAI;
  const isClaude = service !== "gateway" &&
    parseClaudeModel(model) !== undefined;
  if (isClaude) return { ...ALL_SCHEMAS, plainRoot: true };
  const row = SCHEMA_SUBSETS.find(({ services }) => services.includes(service));
  return row?.subset ?? ALL_SCHEMAS;
}
