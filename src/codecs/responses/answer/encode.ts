import type { JsonObject } from "@gateway/base/json";
import { type Answer, estimateUsage } from "../../canonical/answer/answer.ts";
import { unfoldAnswer } from "../../canonical/answer/fold.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../canonical/request/request.ts";
import {
  objectSchema,
  strictFault,
} from "../../canonical/schema/object_schema.ts";
import { hasFlag } from "../fields.ts";
import { wantsCompaction } from "../request/opaque_item.ts";
import { encodeServiceTier, shortId } from "../../openai/settings.ts";
import { encodeFormat, encodeReasoning } from "../request/settings.ts";
import { discardingWriter } from "../stream/item_writer.ts";
import { createOutputWriter } from "../stream/output_writer.ts";
import {
  encodeTool,
  encodeToolChoice,
  type FitFunction,
  isLoaded,
} from "../tools/encode.ts";
import { encodeStop } from "./stop.ts";
import { encodeUsage } from "./usage.ts";

/** Returns an answer as JSON, built by the stream encoder. */
export function encodeAnswer(
  answer: Answer,
  context: AnswerContext,
): JsonObject {
  const output = createOutputWriter(context, discardingWriter);
  unfoldAnswer(answer, (event) => output.push(event));
  output.finish(answer.stop);
  return responseObject(identityOf(answer, context), context, {
    ...finalFields(answer, context, output.written),
    output: output.items,
  });
}

/**
 * Returns the fields of the response in the last event. If the provider sent no usage, estimates the counts from the
 * number of `written` characters.
 */
export function finalFields(
  { stop, usage, serviceTier }: Pick<Answer, "stop" | "usage" | "serviceTier">,
  { estimatedInputTokens, now, nowMs }: AnswerContext,
  written: number,
): JsonObject {
  const ending = encodeStop(stop);
  const isCompleted = ending.status === "completed";
  return {
    ...ending,
    completed_at: isCompleted ? Math.floor((now?.() ?? nowMs) / 1000) : null,
    usage: encodeUsage(usage ?? estimateUsage(estimatedInputTokens, written)),
    ...(serviceTier?.protocol === "responses"
      ? { service_tier: serviceTier.value }
      : {}),
  };
}

/**
 * Writes the tools of the request in the form in which OpenAI repeats them. `strict` is kept only where the schema
 * allows it.
 */
const repeated: FitFunction = ({ parameters, strict }) => {
  const schema = objectSchema(parameters);
  return { schema, strict: strict && strictFault(schema) === undefined };
};

/** The identity of one answer. It is the same in every object of the stream. */
export interface ResponseIdentity {
  readonly id: string;
  /** The time of creation in seconds since 1970. */
  readonly createdAt: number;
}

/**
 * Returns the identity of an answer. Its id is the provider's id with the prefix that clients expect, or a new id when
 * the provider gave none.
 */
export function identityOf(
  answer: { readonly id: string; readonly createdAtMs?: number | undefined },
  context: AnswerContext,
): ResponseIdentity {
  const { id, createdAtMs } = answer;
  return {
    id: id === "" ? context.ids.next("resp") : prefixed(id),
    createdAt: Math.floor((createdAtMs ?? context.nowMs) / 1000),
  };
}

function prefixed(id: string): string {
  return id.startsWith("resp_") ? id : `resp_${id}`;
}

/**
 * Returns a response object. It repeats the settings of the request, because typed clients require them.
 *
 * @param changes The fields that depend on the progress of the answer: status, output, usage, error.
 */
export function responseObject(
  { id, createdAt }: ResponseIdentity,
  context: AnswerContext,
  changes: JsonObject,
): JsonObject {
  return {
    id,
    object: "response",
    access_programs: null,
    created_at: createdAt,
    completed_at: null,
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    model: context.model,
    output: [],
    // OpenAI writes null until the counts are known. So another gateway that reads this answer counts no estimate.
    usage: null,
    ...settingsOf(context.request),
    ...changes,
  };
}

/**
 * Returns the settings of the request, with a default for each missing setting. Open Responses demands all of the
 * settings, and OpenAI refuses null for ids.
 */
function settingsOf(request: CanonicalRequest): JsonObject {
  const { sampling, serviceTier, tools } = request;
  return {
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    instructions: instructionsOf(request),
    max_output_tokens: request.maxOutputTokens ?? null,
    max_tool_calls: null,
    metadata: { ...request.metadata },
    parallel_tool_calls: request.parallelTools ?? true,
    presence_penalty: sampling.presencePenalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: request.cacheKey ?? "",
    reasoning: {
      effort: null,
      summary: null,
      ...encodeReasoning(request.reasoning),
    },
    safety_identifier: shortId(request.user ?? ""),
    service_tier: serviceTier === undefined
      ? "default"
      : encodeServiceTier(serviceTier, "responses"),
    store: false,
    temperature: sampling.temperature ?? 1,
    text: {
      format: formatOf(request),
      verbosity: request.verbosity ?? "medium",
    },
    tool_choice: encodeToolChoice(request.toolChoice, tools) ?? "auto",
    tools: tools.filter((tool) => !isLoaded(tool))
      .map((tool) => encodeTool(tool, repeated))
      .filter((tool) => tool !== undefined).map(described),
    top_logprobs: 0,
    top_p: sampling.topP ?? 1,
    truncation: "disabled",
  };
}

/**
 * Returns the output format. The format of a schema always has a description, which may be empty, and the field
 * `strict`.
 */
function formatOf({ format }: CanonicalRequest): JsonObject {
  const written = encodeFormat(format) ?? { type: "text" };
  return format?.type === "schema"
    ? {
      description: "",
      strict: strictFault(format.schema) === undefined,
      ...written,
    }
    : written;
}

/** Adds a null description to a function that has none. */
function described(tool: JsonObject): JsonObject {
  return tool.type === "function" ? { description: null, ...tool } : tool;
}

function instructionsOf({ turns }: CanonicalRequest): string | null {
  const block = turns.find(isInstructions)?.blocks[0];
  return block?.kind === "text" ? block.text : null;
}

function isInstructions(turn: Turn): boolean {
  return hasFlag(turn, "isInstructions");
}

/**
 * Returns the turns that encoding the answer needs: the instructions, because every response object repeats them, and
 * the block that requests a compaction item.
 */
export function historyForAnswer(turns: readonly Turn[]): readonly Turn[] {
  const instructions = turns.find(isInstructions);
  const last = turns.at(-1);
  return [
    ...(instructions === undefined ? [] : [instructions]),
    ...(last !== undefined && wantsCompaction({ turns })
      ? [{ ...last, blocks: last.blocks.slice(-1) }]
      : []),
  ];
}
