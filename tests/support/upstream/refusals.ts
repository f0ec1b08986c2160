import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";

import { claudeSchemaFault, openAiSchemaFault } from "./schema_rules.ts";

/** A request as a fake provider receives it. */
export interface FakeRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** Returns a real provider's error for a request that it refuses; `undefined` to serve it. */
export type Refusal = (request: FakeRequest) => string | undefined;

/** Returns the first refusal of several rules. */
export function firstOf(...rules: readonly Refusal[]): Refusal {
  return (request) => {
    for (const rule of rules) {
      const fault = rule(request);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

/** Refuses these fields of a body. */
export function fields(...names: readonly string[]): Refusal {
  return ({ body }) => names.find((name) => body[name] !== undefined);
}

/** Refuses every effort but these. */
export function efforts(...words: readonly string[]): Refusal {
  return ({ body: { reasoning_effort: effort } }) =>
    effort === undefined || words.includes(String(effort))
      ? undefined
      : `Invalid reasoning_effort: ${effort}`;
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Refuses hosted tools. */
export function hostedTools({ body }: FakeRequest): string | undefined {
  const hosted = objectsIn(body.tools).find(({ type }) => type !== "function");
  return hosted && `The tool ${hosted.type} is not supported.`;
}

/** Refuses function tools in Chat Completions, unless reasoning is off: OpenAI's models from GPT-5.4 on. */
export function chatToolsBesideReasoning(
  { url, body }: FakeRequest,
): string | undefined {
  const tools = [...objectsIn(body.tools), ...objectsIn(body.functions)];
  return url.endsWith("/chat/completions") && tools.length > 0 &&
      body.reasoning_effort !== "none"
    ? `Function tools with reasoning_effort are not supported for ${body.model} in /v1/chat/completions. Please use /v1/responses instead.`
    : undefined;
}

/** Refuses the result of a tool without a name. */
export function namelessResults({ body }: FakeRequest): string | undefined {
  return objectsIn(body.messages).some(({ role, name }) =>
      role === "tool" && (name === undefined || name === "")
    )
    ? "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
    : undefined;
}

/** Refuses ids of calls that the model's template does not accept. */
export function longCallIds({ body }: FakeRequest): string | undefined {
  const ids = objectsIn(body.messages).flatMap(({ tool_call_id }) =>
    tool_call_id === undefined ? [] : [String(tool_call_id)]
  );
  return ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id))
    ? undefined
    : "must be a-z, A-Z, 0-9, with a length of 9";
}

/** Refuses a field that only some providers' messages have. */
export function foreignParts({ body }: FakeRequest): string | undefined {
  return objectsIn(body.messages).some(({ reasoning_content }) =>
      reasoning_content !== undefined
    )
    ? 'Unknown name "reasoning_content": Cannot find field.'
    : undefined;
}

/** Refuses a request of Messages without a version. */
export function version({ headers }: FakeRequest): string | undefined {
  return headers.has("anthropic-version")
    ? undefined
    : "anthropic-version: header is required";
}

/** The refusals of Gemini's own API. */
export const GEMINI: Refusal = firstOf(
  // https://github.com/Vali-98/ChatterUI/issues/227, https://github.com/ed-donner/agents/issues/45
  fields("frequency_penalty", "presence_penalty", "seed", "store", "metadata"),
  fields("top_k", "reasoning"),
  namelessResults,
  foreignParts,
  // https://discuss.ai.google.dev/t/117875
  efforts("none", "low", "medium", "high"),
  // https://github.com/continuedev/continue/issues/2702
  stops(5),
);

const BEDROCK_BETAS = [
  "claude-code-20250219",
  "interleaved-thinking-2025-05-14",
  "context-management-2025-06-27",
];

/** Refuses the betas that the Messages path of Bedrock does not know. */
export function unknownBeta({ headers }: FakeRequest): string | undefined {
  const betas = headers.get("anthropic-beta")?.split(",") ?? [];
  return betas.every((beta) => BEDROCK_BETAS.includes(beta.trim()))
    ? undefined
    : "invalid beta flag";
}

/** Refuses a schema for the answer. */
export function answerSchemas({ body }: FakeRequest): string | undefined {
  const { response_format: format } = body;
  return isJsonObject(format) && format.type === "json_schema"
    ? "This response_format type is unavailable now"
    : undefined;
}

/** Refuses a conversation in which no message is the user's. */
export function withoutUser({ body }: FakeRequest): string | undefined {
  return body.messages === undefined ||
      objectsIn(body.messages).some(({ role }) => role === "user")
    ? undefined
    : "messages: at least one user message is required";
}

/** Applies a rule to one endpoint alone. */
export function at(path: string, rule: Refusal): Refusal {
  return (request) => request.url.endsWith(path) ? rule(request) : undefined;
}

/** Refuses more stop strings. */
export function stops(most: number): Refusal {
  return ({ body: { stop } }) =>
    Array.isArray(stop) && stop.length > most
      ? `len(stop) > ${most} is not supported`
      : undefined;
}

/** The schemas of a body's tools, in any protocol. */
function toolsIn({ body }: FakeRequest): readonly JsonObject[] {
  return objectsIn(body.tools).map((tool) =>
    isJsonObject(tool.function) ? tool.function : tool
  );
}

/** Refuses the schemas of tools that OpenAI refuses, strict or not. */
export function openAiSchemas(request: FakeRequest): string | undefined {
  return toolsIn(request).map(({ parameters }) => openAiSchemaFault(parameters))
    .find((fault) => fault !== undefined);
}

/** Refuses the schemas of tools that Claude refuses. */
export function claudeSchemas(request: FakeRequest): string | undefined {
  return toolsIn(request).map(({ input_schema: schema }) =>
    isJsonObject(schema) ? claudeSchemaFault(schema) : undefined
  ).find((fault) => fault !== undefined);
}

/** Refuses a mix of strict and other tools: https://github.com/mpfaffenberger/code_puppy/pull/368 */
export function mixedStrict(request: FakeRequest): string | undefined {
  const values = toolsIn(request).map(({ strict }) => strict === true);
  return new Set(values).size > 1
    ? "Tools with mixed values for 'strict' are not allowed."
    : undefined;
}

/** Refuses parts of messages with this type. */
export function parts(type: string): Refusal {
  return ({ body }) =>
    objectsIn(body.messages).flatMap(({ content }) => objectsIn(content))
        .some((part) => part.type === type)
      ? `unknown variant \`${type}\`, expected \`text\``
      : undefined;
}

/** Refuses a choice of one tool, which is an object. */
export function namedChoice({ body }: FakeRequest): string | undefined {
  return isJsonObject(body.tool_choice)
    ? "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
    : undefined;
}

/** Refuses JSON without a schema. */
export function jsonObjects({ body }: FakeRequest): string | undefined {
  const { response_format: format } = body;
  return isJsonObject(format) && format.type === "json_object"
    ? "'response_format.type' must be 'json_schema' or 'text'"
    : undefined;
}

/** Refuses a long answer that is not streamed: https://github.com/nullclaw/nullclaw/pull/231 */
export function longWhole({ body }: FakeRequest): string | undefined {
  return Number(body.max_tokens) > 4096 && body.stream !== true
    ? "Requests with max_tokens > 4096 must have stream=true"
    : undefined;
}
