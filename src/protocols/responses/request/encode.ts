import { createHash } from "node:crypto";
import { type JsonObject, present } from "../../../core/json.ts";
import { loseCitations } from "../../canonical/answer/readable.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import {
  loseCacheMarks,
  loseContinuation,
  loseForeignExtras,
} from "../../canonical/request/loss.ts";
import type {
  CanonicalRequest,
  RequestField,
  Turn,
} from "../../canonical/request/request.ts";
import { sharedExtras, type SharedFields } from "../../openai/extras.ts";
import { dialectOf, type ResponsesDialect, type Scope } from "../dialect.ts";
import { isNoted } from "../fields.ts";
import { encodeTooling, fitSchema } from "../tools/encode.ts";
import { encodeReasoning, type Reasoning } from "./reasoning_encode.ts";
import { encodeExtras, encodeFormat, encodeServiceTier } from "./settings.ts";
import { encodeTurns } from "./turn_encode.ts";

/** Writes a Responses request in the dialect of the target. The upstream is asked to keep nothing. */
export function encodeRequest(
  request: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  const scope: Scope = { dialect: dialectOf(context.target), context };
  const reasoning = encodeReasoning(request.reasoning, scope);
  const shared = sharedExtras(request, "responses", takenOf(scope));
  const logprobs = encodeLogprobs(request, reasoning, scope);
  loseForeignExtras(request, "responses", context, {
    ...shared,
    ...(logprobs === undefined ? {} : LOGPROB_FIELDS),
  });
  loseSettings(request, scope);
  if (!scope.dialect.cacheMarks) loseCacheMarks(request, context);
  loseCitations(request.turns, context);
  loseContinuation(request, context);
  const body = {
    model: context.target.model,
    ...encodeInput(request.turns, scope),
    ...encodeTooling(request, scope),
    ...encodeText(request, scope),
    ...reasoning.fields,
    ...logprobs,
    ...encodeSampling(request, reasoning, scope),
    ...encodeMaximum(request, scope),
    ...encodeRecords(request, scope),
    ...shared,
    store: false,
    ...(request.stream ? { stream: true } : {}),
  };
  return { ...body, ...encodeExtras(request, body) };
}

/** Which of OpenAI's own settings the target takes. */
function takenOf({ dialect }: Scope): SharedFields {
  const { records, model, cacheMarks, userField } = dialect;
  return {
    prompt_cache_options: cacheMarks,
    prompt_cache_retention: records && model?.cacheRetention === true,
    safety_identifier: records && userField === "safety_identifier",
  };
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
  context.reportDropped({
    field: "stop",
    weight: "report",
    reason:
      "this model's provider cannot be told where to stop: the gateway cuts the answer there",
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
  return isNoted(turn, "isInstructions");
}

function encodeText(request: CanonicalRequest, scope: Scope): JsonObject {
  const text = present({
    format: encodeFormat(
      request.format,
      (schema) => fitSchema(schema, scope),
    ),
    verbosity: request.verbosity,
  });
  return Object.keys(text).length === 0 ? {} : { text };
}

/** The settings of Chat Completions that {@linkcode encodeLogprobs} reads. */
const LOGPROB_FIELDS = { logprobs: true, top_logprobs: true };

/** Log probabilities, as a Chat caller asks for them; `undefined` where nobody does, or the model tells none. */
function encodeLogprobs(
  { extras: { chat } }: CanonicalRequest,
  { isOn, fields }: Reasoning,
  { dialect }: Scope,
): JsonObject | undefined {
  const reportsLogprobs = dialect.limits && dialect.hostedTools &&
    !isFixed(isOn, dialect);
  if (chat?.logprobs?.value !== true || !reportsLogprobs) return undefined;
  const include = Array.isArray(fields.include) ? fields.include : [];
  return {
    include: [...include, "message.output_text.logprobs"],
    ...present({ top_logprobs: chat.top_logprobs?.value }),
  };
}

/** Whether the model reasons so that its tokens are drawn in one way. */
function isFixed(isOn: boolean, dialect: ResponsesDialect): boolean {
  return isOn && dialect.model !== undefined && !dialect.fitsModel;
}

/** Models of OpenAI's that reason refuse to be drawn otherwise. */
function encodeSampling(
  { sampling: { temperature, topP } }: CanonicalRequest,
  { isOn }: Reasoning,
  { dialect, context }: Scope,
): JsonObject {
  if (dialect.limits && !isFixed(isOn, dialect)) {
    return present({ temperature, top_p: topP });
  }
  loseGiven(context, [["temperature", temperature], ["topP", topP]]);
  return {};
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
    context.reportDropped({
      field: "maxOutputTokens",
      weight: "report",
      reason:
        `this model takes limits from ${dialect.minOutputTokens} to ${most} tokens`,
    });
  }
  return { max_output_tokens: tokens };
}

/** Longest id of a user and longest cache key. */
const MAX_ID_LENGTH = 64;

/** Who asks, and what the upstream notes of it. Requests of one user share a prompt cache where no key is given. */
function encodeRecords(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const { user, cacheKey, conversation, metadata } = request;
  const key = cacheKey ?? conversation ?? user;
  const prompt_cache_key = key === undefined ? undefined : shortId(key);
  if (!dialect.records) {
    loseGiven(context, [["user", user], ["metadata", metadata]]);
    return present({ prompt_cache_key, ...encodePriority(request, context) });
  }
  return present({
    prompt_cache_key,
    ...encodeUser(request, dialect.userField),
    metadata: metadata === undefined ? undefined : { ...metadata },
    service_tier: request.serviceTier === undefined
      ? undefined
      : encodeServiceTier(request.serviceTier),
  });
}

/**
 * Where the caller used the protocol's own fields, `encodeExtras` writes them again. Beside a `safety_identifier` of
 * its own, the user stands under its own name.
 */
function encodeUser(
  { user, extras }: CanonicalRequest,
  field: string,
): JsonObject {
  const own = extras.responses ?? {};
  if (user === undefined || own.user || own.safety_identifier) return {};
  const other = extras.chat?.safety_identifier;
  const isBeside = other !== undefined && other.weight !== "ignore";
  return { [isBeside ? "user" : field]: shortId(user) };
}

function encodePriority(
  { serviceTier }: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  if (serviceTier?.tier === "priority") return { service_tier: "priority" };
  loseGiven(context, [[
    "serviceTier",
    serviceTier?.tier === "flex" ? serviceTier : undefined,
  ]]);
  return {};
}

/** A longer id becomes its hash: the upstream needs to tell users apart, not to know them. */
function shortId(id: string): string {
  if (id.length <= MAX_ID_LENGTH) return id;
  return createHash("sha256").update(id).digest("hex");
}

/** Reports the fields that have a value: the target has no such setting. */
function loseGiven(
  context: RequestContext,
  fields: readonly (readonly [field: RequestField, value: unknown])[],
): void {
  for (const [field, value] of fields) {
    if (value === undefined) continue;
    context.reportDropped({
      field,
      weight: "report",
      reason: "this model's provider has no such setting",
    });
  }
}
