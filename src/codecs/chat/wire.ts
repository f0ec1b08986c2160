import { z } from "zod";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { invalidIssue } from "../canonical/request/invalid_request.ts";
import { SHARED_NAMES } from "../openai/settings.ts";

// These values come from parsed JSON. Checking them again would only cost time and stack.
const json = z.custom<JsonValue>(() => true);
const jsonObject = z.custom<JsonObject>(isJsonObject, "expected an object");

const toolCall = z.looseObject({
  id: z.string().nullish(),
  type: z.string().nullish(),
  function: z.looseObject({
    name: z.string(),
    arguments: json.nullish(),
  }).nullish(),
  custom: z.looseObject({ name: z.string(), input: z.string() }).nullish(),
  extra_content: json.nullish(),
});

const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(jsonObject)]).nullish(),
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
  function_call: z.looseObject({
    name: z.string(),
    arguments: json.nullish(),
  }).nullish(),
  refusal: z.string().nullish(),
  audio: json.nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(json).nullish(),
  thinking_blocks: z.array(json).nullish(),
});

const functionShape = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
});

const customShape = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  format: jsonObject.nullish(),
});

const tool = z.preprocess(
  nested,
  z.looseObject({
    type: z.string().nullish(),
    function: functionShape.nullish(),
    custom: customShape.nullish(),
    cache_control: json.nullish(),
  }),
);

/**
 * Converts a tool of Responses (`{type, name, parameters}`) or Messages (`{name, input_schema}`) into the nested form
 * of Chat. Cursor sends such tools.
 */
function nested(tool: unknown): unknown {
  if (!isJsonObject(tool) || typeof tool.name !== "string") return tool;
  const { type = "function", input_schema, ...shape } = tool;
  if (!isJsonObject(input_schema) && type !== "function") return tool;
  const own = { parameters: input_schema, ...shape };
  return { ...tool, function: tool.function ?? own, type: "function" };
}

const responseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({
    name: z.string().nullish(),
    description: z.string().nullish(),
    schema: jsonObject.nullish(),
    strict: z.boolean().nullish(),
  }).nullish(),
});

const request = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.union([z.string(), jsonObject]).nullish(),
  functions: z.array(functionShape).nullish(),
  function_call: z.union([z.string(), jsonObject]).nullish(),
  web_search_options: jsonObject.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormat.nullish(),
  verbosity: z.string().nullish(),
  max_completion_tokens: z.number().int().positive().nullish(),
  max_tokens: z.number().int().positive().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  seed: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  reasoning_effort: z.union([z.string(), jsonObject]).nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

/** The fields of a Chat Completions request that the gateway reads. Unknown fields are kept. */
export type WireRequest = z.infer<typeof request>;
/**
 * The fields that the canonical form has. `reasoning_effort` is not among them, because the canonical form has only
 * some of its values.
 */
export const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(request.omit({ reasoning_effort: true }).shape),
  ...SHARED_NAMES,
]);

export type WireMessage = z.infer<typeof message>;
export type WireTool = z.infer<typeof tool>;
export type WireFunction = z.infer<typeof functionShape>;
export type WireToolCall = z.infer<typeof toolCall>;

/** Checks the shape of a request. Throws `invalid_request` with the path of the first wrong field. */
export function parseRequest(body: JsonObject): WireRequest {
  const result = request.safeParse(body);
  if (!result.success) throw invalidIssue(result.error.issues);
  return result.data;
}
