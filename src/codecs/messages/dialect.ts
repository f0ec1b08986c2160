import { oncePer } from "@gateway/base/memo";
import type { RequestContext, Target } from "../canonical/codec.ts";
import type {
  SchemaAbility,
  SchemaScope,
} from "../canonical/schema/fit_schemas.ts";
import {
  CLAUDE_EFFORTS,
  claudeRowFor,
  MESSAGES_PROVIDERS,
  type MessagesRules,
  parseClaudeModel,
} from "../dialects/claude_models.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";
import type { CacheWriter } from "./request/cache.ts";

interface MessagesDialect extends MessagesRules {
  /** True when the provider is asked to drop thinking blocks that fail its check, instead of rejecting the request. */
  readonly dropsMismatches: boolean;
  /** True for Claude, which limits the names of a tool's arguments. */
  readonly limitsPropertyNames: boolean;
  /** The schemas of tools and formats that the provider takes. */
  readonly schema: SchemaAbility;
}

/** The state that each step of encoding a request needs. */
export interface Scope {
  readonly dialect: MessagesDialect;
  readonly context: RequestContext;
  readonly cache: CacheWriter;
  readonly schemas: SchemaScope;
}

/** The rules of compatible servers. They run open models, which cannot verify signatures. */
const COMPATIBLE: MessagesRules = {
  maxOutputTokens: undefined,
  reasoning: {
    byDefault: undefined,
    modes: ["budget", "adaptive", "between_tools", "off"],
    efforts: CLAUDE_EFFORTS,
    effortWhenOff: true,
  },
  sampling: "free",
  forcedCalls: true,
  systemAnywhere: false,
  prefill: true,
  schemas: false,
  unsignedThinking: true,
  thinkingBinding: "none",
  serviceTiers: false,
  maxNameLength: 64,
};

/** The rules of another gateway, which fits the request to its own provider. */
const GATEWAY: MessagesRules = {
  ...COMPATIBLE,
  systemAnywhere: true,
  schemas: true,
  serviceTiers: true,
  maxNameLength: 128,
};

/**
 * Returns the rules of a target: the rules of its Claude model at any provider, or else those of compatible servers.
 */
export const dialectOf: (
  target: Pick<Target, "service" | "model" | "endpoints">,
) => MessagesDialect = oncePer((target) => {
  const rules = rulesOf(target);
  // "output_config.format: Extra inputs are not permitted", from 4.7 on: https://github.com/anomalyco/models.dev/pull/1765
  const schemas = rules.schemas &&
    (target.service !== "bedrock-claude" || rules.sampling !== "none");
  return {
    ...rules,
    schemas,
    schema: {
      subset: schemaSubsetOf(target),
      enforces: schemas ? "closed" : "none",
      json: "none",
      formatSchemas: schemas,
      formatsWithTools: true,
    },
    dropsMismatches: rules.thinkingBinding === "checked" &&
      providerOf(target)?.dropsMismatches === true,
    limitsPropertyNames: target.service !== "gateway" &&
      parseClaudeModel(target.model) !== undefined,
  };
});

function rulesOf(
  { service, model }: Pick<Target, "service" | "model">,
): MessagesRules {
  const claude = parseClaudeModel(model);
  const rules = claude && claudeRowFor(claude)?.rules;
  if (service !== "gateway") return rules ?? COMPATIBLE;
  const thinkingBinding = rules?.thinkingBinding ?? "none";
  return { ...GATEWAY, thinkingBinding };
}

function providerOf({ endpoints }: Pick<Target, "endpoints">) {
  const url = endpoints?.messages;
  const host = url === undefined ? undefined : URL.parse(url)?.host;
  return MESSAGES_PROVIDERS.find((provider) => provider.host === host);
}
