import type { JsonObject } from "../../../core/json.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import {
  loseContinuation,
  loseForeignExtras,
} from "../../canonical/request/loss.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { createCacheWriter, encodeCache } from "./cache.ts";
import { dialectOf, type Scope } from "../dialect.ts";
import { encodeFormat } from "./format_encode.ts";
import { encodeSampling } from "./sampling_encode.ts";
import {
  encodeServiceTier,
  encodeStops,
  encodeUser,
  loseSettings,
} from "./settings_encode.ts";
import { DROP_MISMATCHES } from "./preserved_thinking.ts";
import type { Draft } from "./system_placement.ts";
import {
  encodeThinking,
  isThinking,
  type Thinking,
} from "./thinking_encode.ts";
import { createHistoryIds } from "../tools/tool_call_ids.ts";
import { encodeTooling } from "../tools/encode.ts";
import { encodeTurns } from "./turn_encode.ts";

/** The limit for an answer where neither the caller nor the configuration nor the model names one. */
const DEFAULT_MAX_TOKENS = 32_000;

/**
 * Writes a Messages request as the target's model takes it, for the API version `2023-06-01`, which every
 * upstream of the protocol knows.
 */
export function encodeRequest(
  request: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = {
    dialect: dialectOf(context.target),
    context,
    cache: createCacheWriter(request),
    ids: createHistoryIds(),
  };
  loseForeignExtras(request, "messages", context);
  loseSettings(request, scope);
  if (!scope.dialect.prefill) loseContinuation(request, context);
  const extras = ownExtras(request);
  const tooling = encodeTooling(request, scope);
  const { system, messages } = encodeTurns(request.turns, scope);
  const format = encodeFormat(request.format, scope);
  const thinking = encodeThinking({
    settings: request.reasoning,
    maxTokens: encodeLimit(request, scope),
    isForced: tooling.isForced,
    isLoopBare: isLoopBare(messages),
  }, scope);
  return {
    ...extras,
    model: context.target.model,
    max_tokens: thinking.maxTokens,
    ...encodeSystem([...system, ...format.instructions]),
    messages: [...nudged(messages, tooling.nudge)].map(jsonOf),
    ...(request.stream ? { stream: true } : {}),
    ...tooling.fields,
    ...encodeOutput(extras.output_config, format.config, {
      ...thinking,
      config: withBinding(thinking.config, scope),
    }),
    ...encodeStops(request, scope),
    ...encodeSampling(request.sampling, {
      scope,
      isThinking: isThinking(thinking.config),
    }),
    ...encodeServiceTier(request, scope),
    ...encodeUser(request.user, extras.metadata),
    ...encodeCache(request.cache),
  };
}

function jsonOf({ role, content }: Draft): JsonObject {
  return { role, content: [...content] };
}

function ownExtras(request: CanonicalRequest): JsonObject {
  const extras = Object.entries(request.extras.messages ?? {});
  return Object.fromEntries(extras.map(([name, { value }]) => [name, value]));
}

/** The protocol demands a limit. */
function encodeLimit(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): number {
  const most = Math.min(
    dialect.maxOutputTokens ?? Infinity,
    context.target.maxOutputTokens ?? Infinity,
  );
  const asked = request.maxOutputTokens;
  if (asked === undefined) {
    return most === Infinity ? DEFAULT_MAX_TOKENS : most;
  }
  if (asked > most) {
    context.lose({
      field: "maxOutputTokens",
      weight: "hint",
      reason: `this model writes at most ${most} tokens`,
    });
  }
  return Math.min(asked, most);
}

function encodeSystem(system: readonly JsonObject[]): JsonObject {
  return system.length === 0 ? {} : { system: [...system] };
}

/** At the end of the last words of the user, where it spoils no cached prefix. */
function nudged(
  messages: readonly Draft[],
  nudge: string | undefined,
): readonly Draft[] {
  const last = messages.at(-1);
  if (nudge === undefined || last?.role !== "user") return messages;
  const text = `<system-reminder>\n${nudge}\n</system-reminder>`;
  return [...messages.slice(0, -1), {
    role: "user",
    content: [...last.content, { type: "text", text }],
  }];
}

/** Whether the last answer called tools without a thought before, or with one that could not be sent again. */
function isLoopBare(messages: readonly Draft[]): boolean {
  const answer = messages.findLast(({ role }) => role === "assistant");
  if (!answer?.content.some(({ type }) => type === "tool_use")) return false;
  const type = answer.content[0]?.type;
  return type !== "thinking" && type !== "redacted_thinking";
}

/** Only thinking that the model does as it sees fit, or up to a budget, takes the wish; saying nothing means the first. */
function withBinding(
  config: JsonObject | undefined,
  { dialect }: Scope,
): JsonObject | undefined {
  if (!dialect.dropsMismatches) return config;
  const { type } = config ?? { type: "adaptive" };
  return type === "adaptive" || type === "enabled"
    ? { type, ...config, ...DROP_MISMATCHES }
    : config;
}

function encodeOutput(
  extra: JsonObject["output_config"],
  format: JsonObject | undefined,
  { config, effort }: Thinking,
): JsonObject {
  const output = {
    ...(typeof extra === "object" ? extra : {}),
    ...(effort === undefined ? {} : { effort }),
    ...(format === undefined ? {} : { format }),
  };
  return {
    ...(config === undefined ? {} : { thinking: config }),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
  };
}
