import { z } from "zod";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { invalidIssue } from "../canonical/request/invalid_request.ts";
import { SHARED_NAMES } from "../openai/settings.ts";

// These values come from parsed JSON. Checking them again would only cost time and stack. Items, parts and tools have
// dozens of kinds. Other files read these kinds.
const json = z.custom<JsonValue>(() => true);
const jsonObject = z.custom<JsonObject>(isJsonObject, "expected an object");

const textSettings = z.looseObject({
  format: z.looseObject({
    type: z.string(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    schema: jsonObject.nullish(),
    strict: z.boolean().nullish(),
  }).nullish(),
  verbosity: z.string().nullish(),
});

const reasoning = z.looseObject({
  effort: z.string().nullish(),
  summary: z.string().nullish(),
});

const request = z.looseObject({
  model: z.string(),
  input: z.union(
    [z.string(), z.array(json)],
    "expected a string or a list of items",
  ).nullish(),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(jsonObject).nullish(),
  tool_choice: z.union([z.string(), jsonObject]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: textSettings.nullish(),
  reasoning: reasoning.nullish(),
  max_output_tokens: z.number().int().positive().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  previous_response_id: json.nullish(),
  conversation: json.nullish(),
  prompt: json.nullish(),
  background: z.boolean().nullish(),
});

/** The fields of a Responses request that the gateway reads. Unknown fields are kept. */
export type WireRequest = z.infer<typeof request>;

/** The fields that the canonical form has. The inner fields of `text` and `reasoning` are checked one by one. */
export const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(
    request.omit({
      user: true,
      previous_response_id: true,
      conversation: true,
      prompt: true,
      background: true,
    }).shape,
  ),
  ...SHARED_NAMES,
]);

/** Checks the shape of a request. Throws `invalid_request` with the path of the first wrong field. */
export function parseRequest(body: JsonObject): WireRequest {
  const result = request.safeParse(body);
  if (!result.success) throw invalidIssue(result.error.issues);
  return result.data;
}
