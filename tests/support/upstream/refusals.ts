import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/core/json.ts";

/** A request as a fake provider receives it. */
export interface FakeRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** Returns what a real provider says when it refuses such a request. */
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

/** Refuses tools that the provider would have to run itself. */
export function hostedTools({ body }: FakeRequest): string | undefined {
  const hosted = objectsIn(body.tools).find(({ type }) => type !== "function");
  return hosted && `The tool ${hosted.type} is not supported.`;
}

/** Refuses the result of a tool without a name. */
export function namelessResults({ body }: FakeRequest): string | undefined {
  return objectsIn(body.messages).some(({ role, name }) =>
      role === "tool" && (name === undefined || name === "")
    )
    ? "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
    : undefined;
}

/** Refuses ids of calls that the model's template does not take. */
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
