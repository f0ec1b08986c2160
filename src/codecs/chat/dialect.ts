import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { CacheMark } from "../canonical/content/block.ts";
import type { RequestContext, Target } from "../canonical/codec.ts";
import {
  type Ability,
  createDialects,
  withRows,
} from "../canonical/request/ability.ts";
import { CHAT_PROVIDERS } from "../dialects/chat_providers.ts";
import {
  CHAT,
  type ChatProvider,
  type ChatRow,
  type ChatSpelling,
  COMPATIBLE_CHAT,
  efforts,
  OPENAI_SPELLING,
  strictestEffort,
  TEMPLATE_MODELS,
} from "../dialects/chat_rules.ts";
import { parseClaudeModel } from "../dialects/claude_models.ts";
import { bareId, rulesFor } from "../dialects/model_rows.ts";
import {
  openAiCacheRow,
  openAiModelRules,
  openAiRow,
  takesParallel,
} from "../dialects/openai_models.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";
import {
  openRules,
  routerAbility,
  strictestThinking,
} from "../dialects/thinking_models.ts";

export interface ChatDialect extends ChatSpelling {
  /** The requests that the model takes. */
  readonly ability: Ability;
  /** True for a Claude model at a provider that passes the tools on to Claude. */
  readonly isClaude: boolean;
}

type ModelAt = Pick<Target, "service" | "model">;

type Provider = Omit<ChatProvider, "services" | "sources">;

/** The provider of a server that the table of providers does not contain. */
const UNKNOWN: Provider = { rows: [COMPATIBLE_CHAT] };

/** Returns the dialect of a target. For an unknown provider, returns the most compatible dialect. */
export const dialectOf: (
  target: ModelAt & Pick<Target, "ability">,
) => ChatDialect = createDialects((target) => {
  const { service, model } = target;
  const provider = CHAT_PROVIDERS.find(({ services }) =>
    services.includes(service)
  ) ?? UNKNOWN;
  const openAi = openAiModelRules(target);
  const rows = [
    ...(openAi === undefined ? provider.otherModels : undefined) ??
      provider.rows,
    rulesFor(provider.models ?? [], model) ?? {},
  ];
  const common = withRows(CHAT, ...rows.map(({ ability }) => ability));
  const own = [
    ...rows,
    ...modelRows(target, provider, common, spellingOf(rows)),
    service === "gateway" ? {} : rulesFor(TEMPLATE_MODELS, model) ?? {},
  ];
  const spelling = spellingOf(own);
  return {
    ...spelling,
    signatures: UNSIGNED.test(bareId(model)) ? undefined : spelling.signatures,
    ability: withRows(
      CHAT,
      ...own.map(({ ability }) => ability),
      openAiCacheRow(common, provider.fitsModel ? undefined : openAi),
      {
        tools: { parallel: takesParallel(target) },
        schemas: { subset: schemaSubsetOf(target) },
      },
    ),
    isClaude: service !== "gateway" && parseClaudeModel(model) !== undefined,
  };
});

function spellingOf(rows: readonly ChatRow[]): ChatSpelling {
  return rows.reduce<ChatSpelling>(
    (before, { spelling }) => ({ ...before, ...spelling }),
    OPENAI_SPELLING,
  );
}

/**
 * Returns the rows of a model. They come from the model's generation at the provider, from OpenAI's rules for its
 * models, or from the rules that hold for an open model at every host.
 *
 * @param common The ability that the provider's models share.
 */
function modelRows(
  target: ModelAt,
  { families, fitsModel }: Provider,
  common: Ability,
  { reasoning, reasoningField }: ChatSpelling,
): readonly ChatRow[] {
  const { service, model } = target;
  const isSwitch = reasoning === "switch";
  const family = rulesFor(
    families ?? [],
    model,
    isSwitch ? strictestThinking : strictestEffort,
  );
  if (isSwitch && family !== undefined) return [family];
  const open = service === "gateway" ? undefined : openRules(model)?.ability;
  const needsReasoning = reasoningField !== undefined &&
    open?.reasoning?.byDefault === true;
  const rows: ChatRow[] = [{
    ability: needsReasoning ? { turns: open?.turns } : {},
  }];
  const openAi = fitsModel ? undefined : openAiModelRules(target);
  if (openAi !== undefined) {
    return [...rows, { ability: openAiRow(openAi, common) }];
  }
  const known = open?.reasoning?.modes?.length === 0 && reasoning === "effort"
    ? open.reasoning.efforts ?? []
    : [];
  if (family !== undefined) return [...rows, family];
  if (known.length > 0) return [...rows, efforts(...known)];
  if (reasoning === "router") {
    const ability = { reasoning: routerAbility(target) };
    return [...rows, { ability }];
  }
  return fitsModel
    ? [...rows, { ability: { reasoning: { efforts: undefined } } }]
    : rows;
}

/** Matches the id of each model that does not demand signatures of earlier calls. Gemini 3 and later demand them. */
const UNSIGNED = /^(?!gemini-)|^gemini-[12](?!\d)/;

/** The dialect and context that each step of encoding a request needs. */
export interface Scope {
  readonly dialect: ChatDialect;
  readonly context: RequestContext;
}

const SECONDS_BY_WORD: ReadonlyMap<string, number> = new Map([
  ["5m", 300],
  ["30m", 1800],
  ["1h", 3600],
  ["12h", 43_200],
]);

/**
 * Reads the cache mark of a content part, message or tool: OpenAI's `prompt_cache_breakpoint`, or the `cache_control`
 * that many clients send.
 */
export function decodeCache(
  holder: { readonly [key: string]: unknown },
): CacheMark | undefined {
  const mark = holder.cache_control ?? holder.prompt_cache_breakpoint;
  if (!isJsonObject(mark)) return undefined;
  const ttl = typeof mark.ttl === "string"
    ? SECONDS_BY_WORD.get(mark.ttl)
    : undefined;
  return { ttlSeconds: ttl };
}

/**
 * Returns the field for a cache mark, to add to a part or tool. Returns no field if the provider has no cache marks.
 */
export function encodeCache(
  cache: CacheMark | undefined,
  { ability: { cacheMarks } }: ChatDialect,
): JsonObject {
  if (cache === undefined || cacheMarks === "none") return {};
  const seconds = cache.ttlSeconds;
  if (cacheMarks === "content_and_tools") {
    const ttl = seconds === undefined
      ? {}
      : { ttl: seconds > 300 ? "1h" : "5m" };
    return { cache_control: { type: "ephemeral", ...ttl } };
  }
  const ttl = seconds === undefined
    ? {}
    : { ttl: seconds > 1800 ? "12h" : "30m" };
  return { prompt_cache_breakpoint: { mode: "explicit", ...ttl } };
}
