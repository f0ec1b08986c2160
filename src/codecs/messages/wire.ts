import { z } from "zod";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { invalidIssue } from "../canonical/request/invalid_request.ts";

// These values come from parsed JSON. Checking them again would only cost time and stack.
const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject, "expected an object");

const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(jsonObject)]),
  output_config: json.nullish(),
});

const toolChoice = z.looseObject({
  type: z.string(),
  name: z.string().nullish(),
  disable_parallel_tool_use: z.boolean().nullish(),
});

const thinking = z.looseObject({
  type: z.string(),
  budget_tokens: z.number().nullish(),
  display: z.string().nullish(),
});

const format = z.looseObject({
  type: z.string(),
  schema: jsonObject.nullish(),
});

const request = z.looseObject({
  model: z.string(),
  max_tokens: z.number().int().nonnegative(),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(jsonObject)]).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(jsonObject).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: thinking.nullish(),
  output_config: z.looseObject({
    effort: z.string().nullish(),
    format: format.nullish(),
  }).nullish(),
  // The field for structured output before `output_config` existed.
  output_format: format.nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  service_tier: z.string().nullish(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
  cache_control: jsonObject.nullish(),
  thread: json.nullish(),
});

/** The fields of a Messages request that the gateway reads. Unknown fields are kept. */
export type WireRequest = z.infer<typeof request>;
/** The fields that the canonical form has. */
export const KNOWN_FIELDS: ReadonlySet<string> = new Set(
  Object.keys(request.shape),
);

export type WireMessage = z.infer<typeof message>;
export type WireToolChoice = z.infer<typeof toolChoice>;

/** Checks a request's shape outside of blocks and tools; throws `invalid_request` for the first fault. */
export function parseRequest(body: JsonObject): WireRequest {
  const result = request.safeParse(body);
  if (!result.success) throw invalidIssue(result.error.issues);
  return result.data;
}
