import type { RequestContext, Target } from "../canonical/codec.ts";
import type { Effort } from "../canonical/request.ts";
import type { CacheWriter } from "./cache.ts";
import type { HistoryIds } from "./tool_call_ids.ts";
import { type ClaudeModel, parseClaudeModel } from "./claude_model.ts";

/** What a model behind the Messages protocol takes. */
export interface MessagesDialect {
  /** The most that it writes; `undefined` where that is not known. */
  readonly maxOutputTokens: number | undefined;
  /**
   * Which `thinking` it knows: `none`; `budget` (enabled); `either` (enabled and adaptive); `adaptive`;
   * `as_given` where that is not known.
   */
  readonly thinking: "none" | "budget" | "either" | "adaptive" | "as_given";
  /** What comes closest to no thinking; `undefined` where it always thinks. */
  readonly thinkingOff: "disabled" | "between_tools" | undefined;
  /** The efforts that it tells apart, from little to much. */
  readonly efforts: readonly Effort[];
  /** Whether `temperature`, `top_p` and `top_k` may be set; `one`: not temperature and `top_p` together. */
  readonly sampling: "all" | "one" | "none";
  /** When a tool may be forced on it. */
  readonly forcedTools: "always" | "without_thinking" | "never";
  /** Whether `role: "system"` may stand among the messages. */
  readonly systemAnywhere: boolean;
  /** Whether answers and tool arguments can be held to a schema. */
  readonly schemas: boolean;
  /** Whether earlier thinking may go back without a signature. */
  readonly unsignedThinking: boolean;
  /** Whether service tiers exist. */
  readonly serviceTiers: boolean;
  /** The longest tool name, in characters. */
  readonly maxNameLength: number;
}

/** What every step of writing a request needs to know. */
export interface Scope {
  readonly dialect: MessagesDialect;
  readonly context: RequestContext;
  readonly cache: CacheWriter;
  readonly ids: HistoryIds;
}

const ALL_EFFORTS: readonly Effort[] = [
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/** Servers that imitate the protocol: open models, which can verify no signature. */
const COMPATIBLE: MessagesDialect = {
  maxOutputTokens: undefined,
  thinking: "as_given",
  thinkingOff: "disabled",
  efforts: ALL_EFFORTS,
  sampling: "all",
  forcedTools: "always",
  systemAnywhere: false,
  schemas: false,
  unsignedThinking: true,
  serviceTiers: false,
  maxNameLength: 64,
};

/** Another gateway, which fits the request to its own upstream. */
const GATEWAY: MessagesDialect = {
  ...COMPATIBLE,
  systemAnywhere: true,
  schemas: true,
  serviceTiers: true,
  maxNameLength: 128,
};

/** The dialect of a target: by its model where that is a Claude, whoever serves it. */
export function dialectOf(
  { service, model }: Pick<Target, "service" | "model">,
): MessagesDialect {
  if (service === "gateway") return GATEWAY;
  const claude = parseClaudeModel(model);
  return claude === undefined ? COMPATIBLE : dialectOfClaude(claude);
}

/**
 * The rules of Anthropic's model generations, as its documentation and migration guide give them (`thinking`,
 * `effort`, sampling parameters, `tool_choice`, `max_tokens`). What is newer than known here gets the rules of
 * the newest.
 */
function dialectOfClaude({ family, version }: ClaudeModel): MessagesDialect {
  const isOpus = family === "opus";
  return {
    maxOutputTokens: maxOutputTokens(family, version),
    thinking: version < 307
      ? "none"
      : version < 406
      ? "budget"
      : version === 406
      ? "either"
      : "adaptive",
    thinkingOff: thinkingOff(family, version),
    efforts: efforts(family, version),
    sampling: version < 401 ? "all" : version < 407 ? "one" : "none",
    forcedTools: isForceable(family, version) ? "without_thinking" : "never",
    systemAnywhere: version >= (isOpus ? 408 : 500),
    schemas: version >= (isOpus ? 401 : 405),
    unsignedThinking: false,
    serviceTiers: true,
    maxNameLength: 128,
  };
}

function maxOutputTokens(
  family: ClaudeModel["family"],
  version: number,
): number {
  if (version < 305) return 4096;
  if (version < 307) return 8192;
  if (version >= 406) return 128_000;
  return family === "opus" && version < 405 ? 32_000 : 64_000;
}

function thinkingOff(
  family: ClaudeModel["family"],
  version: number,
): MessagesDialect["thinkingOff"] {
  if (alwaysThinks(family)) return undefined;
  if (version < 505 || family === "haiku") return "disabled";
  return family === "sonnet" ? "between_tools" : undefined;
}

function alwaysThinks(family: ClaudeModel["family"]): boolean {
  return family === "fable" || family === "mythos";
}

function isForceable(family: ClaudeModel["family"], version: number): boolean {
  if (alwaysThinks(family)) return false;
  return version < 505 || family === "haiku";
}

function efforts(
  family: ClaudeModel["family"],
  version: number,
): readonly Effort[] {
  if (version >= 407) return ALL_EFFORTS;
  if (version === 406) return ["low", "medium", "high", "max"];
  return version === 405 && family === "opus" ? ["low", "medium", "high"] : [];
}
