import { z } from "zod";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import { framesOf } from "../wire/sse_frames.ts";

/*
 * The required fields of an Open Responses answer and their types, in schemas of our own. They
 * follow `schema/responses.tsp`, `items.tsp`, `content.tsp`, `tools.tsp` and `events.tsp` of
 * https://github.com/openresponses/openresponses (May 2026). Further fields are allowed.
 */

const STATUS = z.enum(["in_progress", "completed", "incomplete"]);

const LOGPROBS = z.array(z.looseObject({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()),
  top_logprobs: z.array(z.looseObject({ token: z.string() })),
}));

const ANNOTATION = z.looseObject({
  type: z.literal("url_citation"),
  url: z.string(),
  title: z.string(),
  start_index: z.int(),
  end_index: z.int(),
});

const PART = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("output_text"),
    text: z.string(),
    annotations: z.array(ANNOTATION),
    // Required until May 2026, optional since.
    logprobs: LOGPROBS,
  }),
  z.looseObject({ type: z.literal("refusal"), refusal: z.string() }),
  z.looseObject({ type: z.literal("summary_text"), text: z.string() }),
  z.looseObject({ type: z.literal("reasoning_text"), text: z.string() }),
]);

const ITEM = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message"),
    id: z.string(),
    status: STATUS,
    role: z.literal("assistant"),
    content: z.array(PART),
  }),
  z.looseObject({
    type: z.literal("function_call"),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: STATUS,
  }),
  z.looseObject({
    type: z.literal("reasoning"),
    id: z.string(),
    summary: z.array(PART),
    content: z.array(PART).optional(),
    encrypted_content: z.string().optional(),
  }),
]);

const TOOL = z.looseObject({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
});

const USAGE = z.looseObject({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.looseObject({ cached_tokens: z.int() }),
  output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }),
});

const RESPONSE = z.looseObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(ITEM),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(TOOL),
  tool_choice: z.union([
    z.enum(["none", "auto", "required"]),
    z.looseObject({ type: z.enum(["function", "allowed_tools"]) }),
  ]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({
    format: z.discriminatedUnion("type", [
      z.looseObject({ type: z.enum(["text", "json_object"]) }),
      z.looseObject({
        type: z.literal("json_schema"),
        name: z.string(),
        description: z.string().nullable(),
        schema: z.looseObject({}),
        strict: z.boolean(),
      }),
    ]),
    verbosity: z.enum(["low", "medium", "high"]).optional(),
  }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.looseObject({
    effort: z.enum(["none", "low", "medium", "high", "xhigh"]).nullable(),
    summary: z.enum(["concise", "detailed", "auto"]).nullable(),
  }).nullable(),
  usage: USAGE.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.unknown(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});

/** An answer of Open Responses. */
export type OpenResponse = z.infer<typeof RESPONSE>;

const RESPONSE_EVENT = { response: RESPONSE };
const ITEM_EVENT = { output_index: z.int(), item: ITEM };
const IN_ITEM = { item_id: z.string(), output_index: z.int() };
const IN_CONTENT = { ...IN_ITEM, content_index: z.int() };
const IN_SUMMARY = { ...IN_ITEM, summary_index: z.int() };

/** The required fields of every event, beside its type and number. */
const FIELDS_BY_EVENT: Readonly<Record<string, z.ZodRawShape>> = {
  "response.created": RESPONSE_EVENT,
  "response.queued": RESPONSE_EVENT,
  "response.in_progress": RESPONSE_EVENT,
  "response.completed": RESPONSE_EVENT,
  "response.failed": RESPONSE_EVENT,
  "response.incomplete": RESPONSE_EVENT,
  "response.output_item.added": ITEM_EVENT,
  "response.output_item.done": ITEM_EVENT,
  "response.content_part.added": { ...IN_CONTENT, part: PART },
  "response.content_part.done": { ...IN_CONTENT, part: PART },
  "response.output_text.delta": {
    ...IN_CONTENT,
    delta: z.string(),
    logprobs: LOGPROBS,
  },
  "response.output_text.done": {
    ...IN_CONTENT,
    text: z.string(),
    logprobs: LOGPROBS,
  },
  "response.output_text.annotation.added": {
    ...IN_CONTENT,
    annotation_index: z.int(),
    annotation: ANNOTATION.nullable(),
  },
  "response.refusal.delta": { ...IN_CONTENT, delta: z.string() },
  "response.refusal.done": { ...IN_CONTENT, refusal: z.string() },
  "response.function_call_arguments.delta": { ...IN_ITEM, delta: z.string() },
  "response.function_call_arguments.done": {
    ...IN_ITEM,
    arguments: z.string(),
  },
  "response.reasoning_summary_part.added": { ...IN_SUMMARY, part: PART },
  "response.reasoning_summary_part.done": { ...IN_SUMMARY, part: PART },
  "response.reasoning_summary_text.delta": { ...IN_SUMMARY, delta: z.string() },
  "response.reasoning_summary_text.done": { ...IN_SUMMARY, text: z.string() },
  "response.reasoning.delta": { ...IN_CONTENT, delta: z.string() },
  "response.reasoning.done": { ...IN_CONTENT, text: z.string() },
  "error": { error: z.looseObject({ type: z.string(), message: z.string() }) },
};

/** An answer and its events; no events when it was not a stream. */
export interface OpenAnswer {
  readonly response: OpenResponse;
  readonly events: readonly JsonObject[];
}

/**
 * Reads an answer and checks it against Open Responses.
 *
 * @throws {Error} Names every field that is missing or wrong, with its path.
 */
export async function readOpenResponse(answer: Response): Promise<OpenAnswer> {
  const type = answer.headers.get("content-type") ?? "";
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
  if (!type.includes("text/event-stream")) {
    return { response: held(RESPONSE, parseJson(text), "answer"), events: [] };
  }
  const events = framesOf(text).filter(({ data }) => data !== "[DONE]")
    .map(({ event, data }) => readEvent(event, data));
  const last = events.findLast(({ response }) => response !== undefined);
  return { response: held(RESPONSE, last?.response, "last event"), events };
}

function readEvent(name: string | undefined, data: string): JsonObject {
  const event = parseJson(data);
  if (!isJsonObject(event) || typeof event.type !== "string") {
    throw new Error(`No event: ${data}`);
  }
  if (name !== event.type) throw new Error(`${name} is a ${event.type}`);
  const fields = FIELDS_BY_EVENT[event.type];
  if (fields === undefined) throw new Error(`Unknown event: ${event.type}`);
  held(
    z.looseObject({ ...fields, sequence_number: z.int() }),
    event,
    event.type,
  );
  return event;
}

function held<Form extends z.ZodType>(
  form: Form,
  value: unknown,
  where: string,
): z.infer<Form> {
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`${where}: ${z.prettifyError(parsed.error)}`);
}
