import type { RequestContext, Target } from "../canonical/codec.ts";
import {
  type Ability,
  type AbilityRow,
  createDialects,
  withRows,
} from "../canonical/request/ability.ts";
import {
  CLAUDE_EFFORTS,
  claudeRowFor,
  ENFORCES_SCHEMAS,
  FIRST_CLAUDE,
  MESSAGES_PROVIDERS,
  parseClaudeModel,
} from "../dialects/claude_models.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";
import type { CacheWriter } from "./request/cache.ts";

interface MessagesDialect {
  /** The requests that the model takes. */
  readonly ability: Ability;
  /**
   * Which models check that earlier thinking follows its original prefix. `checked`: this model does. `noted`: a later
   * model of the same provider may do so. `none`: no model does.
   */
  readonly thinkingBinding: "checked" | "noted" | "none";
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

/** What compatible servers take. They run open models, which cannot verify signatures. */
const COMPATIBLE = withRows(FIRST_CLAUDE, {
  reasoning: {
    byDefault: undefined,
    modes: ["budget", "adaptive", "between_tools", "off"],
    efforts: CLAUDE_EFFORTS,
    effortWhenOff: true,
  },
  sampling: { free: "always" },
  limits: { mostOutputTokens: Infinity, mostNameCharacters: 64 },
  turns: { unsignedReasoning: true },
  tiers: [],
});

/** What another gateway takes. That gateway fits the request to its own provider. */
const GATEWAY = withRows(COMPATIBLE, {
  ...ENFORCES_SCHEMAS,
  limits: { mostNameCharacters: 128 },
  turns: { systemAnywhere: true },
  tiers: FIRST_CLAUDE.tiers,
});

/**
 * Returns the dialect of a target. A Claude model has the same dialect at every provider. Any other model has the
 * dialect of compatible servers.
 */
export const dialectOf: (
  target: Pick<Target, "service" | "model" | "endpoints" | "ability">,
) => MessagesDialect = createDialects((target) => {
  const { service, model } = target;
  const claude = parseClaudeModel(model);
  const row = claude && claudeRowFor(claude);
  const isGateway = service === "gateway";
  const ability = isGateway ? GATEWAY : row?.ability ?? COMPATIBLE;
  // "output_config.format: Extra inputs are not permitted", from 4.7 on: https://github.com/anomalyco/models.dev/pull/1765
  const lacksFormat = service === "bedrock-claude" &&
    ability.sampling.free === "never";
  const thinkingBinding = row === undefined
    ? "none"
    : row.isChecked
    ? "checked"
    : "noted";
  return {
    ability: withRows(ability, {
      schemas: {
        subset: schemaSubsetOf(target),
        ...(lacksFormat ? { enforces: "none", formatSchemas: false } : {}),
      },
    }),
    thinkingBinding,
    dropsMismatches: thinkingBinding === "checked" &&
      providerOf(target)?.dropsMismatches === true,
    limitsPropertyNames: !isGateway && claude !== undefined,
  };
}, unspoken);

/** Returns the parts of an ability that Messages has no field for. */
function unspoken({ schemas, tiers, settings }: Ability): AbilityRow {
  return {
    schemas: { json: schemas.json === "none" ? "none" : "schema" },
    settings: {
      ...settings,
      ...{ seed: false, frequencyPenalty: false, presencePenalty: false },
      ...{ verbosity: false, metadata: false, logprobs: false },
      ...{ webSearch: false, cacheOptions: false, cacheRetention: false },
      safetyIdentifier: false,
    },
    tiers: tiers.filter((tier) => tier !== "flex"),
    names: false,
  };
}

function providerOf({ endpoints }: Pick<Target, "endpoints">) {
  const url = endpoints?.messages;
  const host = url === undefined ? undefined : URL.parse(url)?.host;
  return MESSAGES_PROVIDERS.find((provider) => provider.host === host);
}
