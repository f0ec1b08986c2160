import type { JsonObject } from "../../core/json.ts";
import { loseCacheMarks } from "../canonical/cache_marks.ts";
import type { RequestContext } from "../canonical/codec.ts";
import { loseForeignExtras } from "../canonical/loss.ts";
import type {
  CanonicalRequest,
  ReasoningSettings,
  Turn,
} from "../canonical/request.ts";
import {
  dialectOf,
  type Scope,
  sealsReasoning,
  takesSampling,
} from "./dialect.ts";
import { encodeExtras } from "./extras.ts";
import { loseGiven } from "./lose.ts";
import { ownMarks, present } from "./marks.ts";
import { encodeRecords } from "./records_encode.ts";
import { encodeFormat, encodeReasoning } from "./settings.ts";
import { encodeTooling } from "./tool_encode.ts";
import { encodeTurns } from "./turn_encode.ts";

/** Writes a Responses request in the dialect of the target. The upstream is asked to keep nothing. */
export function encodeRequest(
  request: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  loseForeignExtras(request, "responses", context);
  loseSettings(request, scope);
  if (!scope.dialect.cacheMarks) loseCacheMarks(request, context);
  const body = {
    model: context.target.model,
    ...encodeInput(request.turns, scope),
    ...encodeTooling(request, scope),
    ...encodeText(request),
    ...encodeThinking(request.reasoning, scope),
    ...encodeLimits(request, scope),
    ...encodeRecords(request, scope),
    store: false,
    ...(request.stream ? { stream: true } : {}),
  };
  return { ...body, ...encodeExtras(request, body) };
}

/** Settings that the protocol does not have. */
function loseSettings(request: CanonicalRequest, { context }: Scope): void {
  const { topK, seed, frequencyPenalty, presencePenalty } = request.sampling;
  loseGiven(context, [
    ["topK", topK],
    ["seed", seed],
    ["frequencyPenalty", frequencyPenalty || undefined],
    ["presencePenalty", presencePenalty || undefined],
  ]);
  if (request.stop === undefined) return;
  context.lose({
    field: "stop",
    weight: "answer",
    reason: "this model's provider cannot be told where to stop",
  });
}

/** `instructions` where the caller gave some, and messages for every other system turn. */
function encodeInput(turns: readonly Turn[], scope: Scope): JsonObject {
  const instructions = turns.find(isInstructions);
  const text = instructions?.blocks.map((block) =>
    block.kind === "text" ? block.text : ""
  ).join("\n\n");
  const input = encodeTurns(
    turns.filter((turn) => turn !== instructions),
    scope,
  );
  return {
    ...present({
      instructions: text ??
        (scope.dialect.demandsInstructions ? "" : undefined),
    }),
    input,
  };
}

function isInstructions(turn: Turn): boolean {
  return ownMarks(turn).isInstructions === true;
}

function encodeText(request: CanonicalRequest): JsonObject {
  const text = present({
    format: encodeFormat(request.format),
    verbosity: request.verbosity,
  });
  return Object.keys(text).length === 0 ? {} : { text };
}

/** How to think, and the wish to get back what the upstream would otherwise keep. */
function encodeThinking(
  settings: ReasoningSettings | undefined,
  scope: Scope,
): JsonObject {
  const reasoning = encodeReasoning(
    scope.dialect.alwaysReasons ? withSummary(settings) : settings,
  );
  return {
    ...present({ reasoning }),
    ...(sealsReasoning(settings, scope)
      ? { include: ["reasoning.encrypted_content"] }
      : {}),
  };
}

/** Summaries show nothing unless asked for; a target where they cost nothing is always asked. */
function withSummary(
  settings: ReasoningSettings | undefined,
): ReasoningSettings {
  if (settings?.mode === "off") return settings;
  return { ...settings, summary: settings?.summary ?? "auto" };
}

function encodeLimits(request: CanonicalRequest, scope: Scope): JsonObject {
  const { temperature, topP } = request.sampling;
  if (takesSampling(request.reasoning, scope)) {
    return {
      ...encodeMaximum(request, scope),
      ...present({ temperature, top_p: topP }),
    };
  }
  loseGiven(scope.context, [["temperature", temperature], ["topP", topP]]);
  return encodeMaximum(request, scope);
}

function encodeMaximum(
  { maxOutputTokens: asked }: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  if (asked === undefined) return {};
  if (!dialect.limits) {
    loseGiven(context, [["maxOutputTokens", asked]]);
    return {};
  }
  const most = context.target.maxOutputTokens ?? Infinity;
  const tokens = Math.max(dialect.minOutputTokens, Math.min(asked, most));
  if (tokens !== asked) {
    context.lose({
      field: "maxOutputTokens",
      weight: "hint",
      reason:
        `this model takes limits from ${dialect.minOutputTokens} to ${most} tokens`,
    });
  }
  return { max_output_tokens: tokens };
}
