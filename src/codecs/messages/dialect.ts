import { oncePer } from "@gateway/base/memo";
import type { RequestContext, Target } from "../canonical/codec.ts";
import type { Ability } from "../canonical/request/ability.ts";
import {
  CLAUDE_EFFORTS,
  claudeRowFor,
  MESSAGES_PROVIDERS,
  type MessagesRules,
  parseClaudeModel,
} from "../dialects/claude_models.ts";
import { SAMPLING_SETTINGS } from "../canonical/request/fit_settings.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";
import type { CacheWriter } from "./request/cache.ts";

interface MessagesDialect extends MessagesRules {
  /** The requests that the model takes. */
  readonly ability: Ability;
  /** True when the provider is asked to drop thinking blocks that fail its check, instead of rejecting the request. */
  readonly dropsMismatches: boolean;
  /** True for Claude, which limits the names of a tool's arguments. */
  readonly limitsPropertyNames: boolean;
}

/** The state that each step of encoding a request needs. */
export interface Scope {
  readonly dialect: MessagesDialect;
  readonly context: RequestContext;
  readonly cache: CacheWriter;
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
    ability: abilityOf({ ...rules, schemas }, target),
    dropsMismatches: rules.thinkingBinding === "checked" &&
      providerOf(target)?.dropsMismatches === true,
    limitsPropertyNames: target.service !== "gateway" &&
      parseClaudeModel(target.model) !== undefined,
  };
});

/** Returns the requests that a model takes. */
function abilityOf(
  rules: MessagesRules,
  target: Pick<Target, "service" | "model">,
): Ability {
  const { sampling, schemas } = rules;
  return {
    protocol: "messages",
    reasoning: rules.reasoning,
    tools: {
      allowedList: false,
      force: rules.forcedCalls ? "named" : "never",
      forbid: true,
      webSearch: false,
      mixedStrict: true,
      parallel: true,
    },
    schemas: {
      subset: schemaSubsetOf(target),
      enforces: schemas ? "closed" : "none",
      json: "none",
      formatSchemas: schemas,
      formatsWithTools: true,
    },
    sampling: {
      free: sampling === "free"
        ? "always"
        : sampling === "none"
        ? "never"
        : "without_reasoning",
      fixed: SAMPLING_SETTINGS,
      leastTopP: sampling === "none" ? 0.99 : 0.95,
      both: sampling !== "one",
      mostTemperature: 1,
    },
    limits: {
      leastOutputTokens: 0,
      mostOutputTokens: rules.maxOutputTokens ?? Infinity,
      usualOutputTokens: 32_000,
      mostWholeTokens: Infinity,
      mostStops: Infinity,
      blankStops: false,
      mostCacheMarks: 4,
    },
    settings: {
      temperature: true,
      topP: true,
      topK: true,
      seed: false,
      frequencyPenalty: false,
      presencePenalty: false,
      maxOutputTokens: true,
      verbosity: false,
      user: true,
      cacheKey: true,
      metadata: false,
      logprobs: false,
      webSearch: false,
      cacheOptions: false,
      cacheRetention: false,
      safetyIdentifier: false,
    },
    tiers: rules.serviceTiers ? ["auto", "standard", "priority"] : [],
    cacheMarks: "content_and_tools",
    continues: rules.prefill,
    names: false,
    citations: true,
  };
}

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
