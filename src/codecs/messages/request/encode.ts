import { type JsonObject, present } from "@gateway/base/json";
import type { RequestContext } from "../../canonical/codec.ts";
import { fit } from "../../canonical/request/fit.ts";
import { ownExtras } from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  OutputFormat,
} from "../../canonical/request/request.ts";
import { dialectOf, type Scope } from "../dialect.ts";
import { encodeTooling } from "../tools/encode.ts";
import { createCacheWriter, encodeCache, markKeyedPrefix } from "./cache.ts";
import { DROP_MISMATCHES } from "./preserved_thinking.ts";
import { encodeServiceTier, encodeUser } from "./settings_encode.ts";
import { thinkingFor } from "./part_encode.ts";
import { type Draft, encodeTurns } from "./turn_encode.ts";
import { encodeThinking } from "./thinking_encode.ts";

/** Encodes a request in the API version `2023-06-01`, which every provider of the protocol supports. */
export function encodeRequest(
  given: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const dialect = dialectOf(context.target);
  const { request, reasoning, ...fitted } = fit(
    given,
    dialect.ability,
    context,
    (block) => thinkingFor(block, { dialect, context }) !== undefined,
  );
  const { cacheMarks, limits } = dialect.ability;
  const mostMarks = cacheMarks === "none" ? 0 : limits.mostCacheMarks;
  const marked = cacheMarks === "content" ? { ...given, tools: [] } : given;
  const cache = createCacheWriter(marked, mostMarks);
  const scope: Scope = { dialect, context, cache };
  const extras = ownExtras(request, "messages");
  const tooling = encodeTooling(fitted, scope);
  const turns = encodeTurns(request.turns, scope);
  const { system, messages } = markKeyedPrefix(request, {
    system: fitted.instruction === undefined
      ? turns.system
      : [...turns.system, { type: "text", text: fitted.instruction }],
    messages: withNudge(turns.messages, fitted.tooling.nudge),
  }, mostMarks);
  const thinking = encodeThinking(reasoning, request.reasoning);
  const { temperature, topP, topK } = request.sampling;
  return {
    ...extras,
    model: context.target.model,
    ...present({ max_tokens: request.maxOutputTokens }),
    ...encodeSystem(system),
    messages: messages.map(jsonOf),
    ...(request.stream ? { stream: true } : {}),
    ...tooling,
    ...present({ thinking: withBinding(thinking, scope) }),
    ...encodeOutput(extras.output_config, fitted.format, reasoning.effort),
    ...present({
      stop_sequences: request.stop && [...request.stop],
      temperature,
      top_p: topP,
      top_k: topK,
    }),
    ...encodeServiceTier(request.serviceTier),
    ...encodeUser(request.user, extras.metadata),
    ...(mostMarks === 0 ? {} : encodeCache(request.cache)),
  };
}

function jsonOf({ role, content }: Draft): JsonObject {
  return { role, content: [...content] };
}

function encodeSystem(system: readonly JsonObject[]): JsonObject {
  return system.length === 0 ? {} : { system: [...system] };
}

/** Adds the nudge to the end of the user's last message, so that the cached prefix stays valid. */
function withNudge(
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

/**
 * Adds the setting that makes the provider drop mismatched thinking. Only some modes of thinking have this setting.
 */
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
  format: OutputFormat | undefined,
  effort: string | undefined,
): JsonObject {
  const output = {
    ...(typeof extra === "object" ? extra : {}),
    ...present({
      effort,
      format: format?.type === "schema"
        ? { type: "json_schema", schema: format.schema }
        : undefined,
    }),
  };
  return Object.keys(output).length === 0 ? {} : { output_config: output };
}
