import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/core/json.ts";
import type { Operation } from "../../../src/core/protocol.ts";
import type { ServiceName } from "../../../src/config/services.ts";

/** The value of every key in the tests of presets. */
export const FAKE_KEY = "key-of-the-fake";

/** A request as a fake provider receives it. */
export interface FakeRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** An operation that a fake provider may serve. */
export type FakeOperation = Extract<
  Operation,
  "chat_completions" | "messages" | "responses" | "completions"
>;

/** A provider with the addresses, the credential and the refusals of the real one. */
export interface FakeProvider {
  /** The whole URL of each operation that it serves. */
  readonly urls: Readonly<Partial<Record<FakeOperation, string>>>;
  /** The header with the key, and its value; absent for a server without keys. */
  readonly credential?: readonly [name: string, value: string];
  /** Returns what the real provider says when it refuses such a request. */
  readonly refuse?: (request: FakeRequest) => string | undefined;
}

const BEARER = ["authorization", `Bearer ${FAKE_KEY}`] as const;
const API_KEY = ["api-key", FAKE_KEY] as const;

/** Returns the first refusal of several rules. */
function firstOf(
  ...rules: readonly NonNullable<FakeProvider["refuse"]>[]
): NonNullable<FakeProvider["refuse"]> {
  return (request) => {
    for (const rule of rules) {
      const fault = rule(request);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

/** Refuses these fields of a body. */
const fields = (...names: readonly string[]) => ({ body }: FakeRequest) =>
  names.find((name) => body[name] !== undefined);

/** Refuses every effort but these. */
const efforts = (...words: readonly string[]) => ({ body }: FakeRequest) =>
  body.reasoning_effort === undefined ||
    words.includes(String(body.reasoning_effort))
    ? undefined
    : `Invalid reasoning_effort: ${body.reasoning_effort}`;

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Refuses tools that the provider would have to run itself. */
function hostedTools({ body }: FakeRequest): string | undefined {
  const hosted = objectsIn(body.tools).find(({ type }) => type !== "function");
  return hosted && `The tool ${hosted.type} is not supported.`;
}

/** Refuses the result of a tool without a name. */
function namelessResults({ body }: FakeRequest): string | undefined {
  return objectsIn(body.messages).some(({ role, name }) =>
      role === "tool" && (name === undefined || name === "")
    )
    ? "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
    : undefined;
}

/** Refuses ids of calls that the model's template does not take. */
function longCallIds({ body }: FakeRequest): string | undefined {
  const ids = objectsIn(body.messages).flatMap(({ tool_call_id }) =>
    tool_call_id === undefined ? [] : [String(tool_call_id)]
  );
  return ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id))
    ? undefined
    : "must be a-z, A-Z, 0-9, with a length of 9";
}

/** Refuses a field that only some providers' messages have. */
function foreignParts({ body }: FakeRequest): string | undefined {
  return objectsIn(body.messages).some(({ reasoning_content }) =>
      reasoning_content !== undefined
    )
    ? 'Unknown name "reasoning_content": Cannot find field.'
    : undefined;
}

const version = ({ headers }: FakeRequest) =>
  headers.has("anthropic-version")
    ? undefined
    : "anthropic-version: header is required";

const GEMINI = firstOf(
  // https://github.com/Vali-98/ChatterUI/issues/227, https://github.com/ed-donner/agents/issues/45
  fields("frequency_penalty", "presence_penalty", "seed", "store", "metadata"),
  fields("top_k", "reasoning"),
  namelessResults,
  foreignParts,
  // https://discuss.ai.google.dev/t/117875
  efforts("none", "low", "medium", "high"),
);

/** The Messages path of Bedrock refuses betas that it does not know: "invalid beta flag". */
const BEDROCK_BETAS = [
  "claude-code-20250219",
  "interleaved-thinking-2025-05-14",
  "context-management-2025-06-27",
];

function unknownBeta({ headers }: FakeRequest): string | undefined {
  const betas = headers.get("anthropic-beta")?.split(",") ?? [];
  return betas.every((beta) => BEDROCK_BETAS.includes(beta.trim()))
    ? undefined
    : "invalid beta flag";
}

/** A server in the house, without a key. */
const inHouse = (port: number): FakeProvider => ({
  urls: {
    chat_completions: `http://127.0.0.1:${port}/v1/chat/completions`,
    messages: `http://127.0.0.1:${port}/v1/messages`,
    responses: `http://127.0.0.1:${port}/v1/responses`,
    completions: `http://127.0.0.1:${port}/v1/completions`,
  },
});

/** The fakes of the services that issue 27 lists. */
export const FAKE_PROVIDERS = {
  "openai-chat": {
    urls: {
      chat_completions: "https://api.openai.com/v1/chat/completions",
      responses: "https://api.openai.com/v1/responses",
    },
    credential: BEARER,
    // "Unsupported parameter: 'max_tokens' is not supported with this model."
    refuse: fields("max_tokens", "temperature"),
  },
  azure: {
    urls: {
      responses: "https://my-resource.openai.azure.com/openai/v1/responses",
    },
    credential: API_KEY,
    refuse: firstOf(hostedTools, fields("temperature", "max_tokens")),
  },
  "azure-chat": {
    urls: {
      chat_completions:
        "https://my-resource.openai.azure.com/openai/v1/chat/completions",
    },
    credential: API_KEY,
    refuse: fields("max_tokens", "temperature", "prompt_cache_breakpoint"),
  },
  "azure-claude": {
    urls: {
      messages:
        "https://my-resource.services.ai.azure.com/anthropic/v1/messages",
    },
    credential: API_KEY,
    refuse: version,
  },
  "aws-claude": {
    urls: {
      messages: "https://aws-external-anthropic.us-west-2.api.aws/v1/messages",
    },
    credential: ["x-api-key", FAKE_KEY],
    refuse: firstOf(
      version,
      ({ headers }) =>
        headers.get("anthropic-workspace-id") === "wrkspc_01AbCdEf"
          ? undefined
          : "anthropic-workspace-id: header is required",
    ),
  },
  bedrock: {
    urls: {
      chat_completions:
        "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1/chat/completions",
    },
    credential: BEARER,
    // https://github.com/CherryHQ/cherry-studio/issues/9655
    refuse: fields("max_tokens"),
  },
  "bedrock-responses": {
    urls: {
      responses:
        "https://bedrock-runtime.us-east-2.amazonaws.com/openai/v1/responses",
    },
    credential: BEARER,
    refuse: firstOf(hostedTools, fields("temperature")),
  },
  "bedrock-claude": {
    urls: {
      messages:
        "https://bedrock-mantle.us-west-2.api.aws/anthropic/v1/messages",
    },
    credential: ["x-api-key", FAKE_KEY],
    refuse: firstOf(version, unknownBeta),
  },
  vertex: {
    urls: {
      chat_completions:
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1/endpoints/openapi/chat/completions",
    },
    credential: BEARER,
    // A parameter that it does not know is ignored.
    refuse: firstOf(namelessResults, efforts("none", "low", "medium", "high")),
  },
  gemini: {
    urls: {
      chat_completions:
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    },
    credential: BEARER,
    refuse: GEMINI,
  },
  xai: {
    urls: {
      chat_completions: "https://api.x.ai/v1/chat/completions",
      responses: "https://api.x.ai/v1/responses",
    },
    credential: BEARER,
    refuse: firstOf(
      // https://github.com/miaoxworld/NativeTavern/issues/83, https://github.com/langchain-ai/langchain/pull/38335
      fields("frequency_penalty", "presence_penalty", "stop"),
      efforts("low", "medium", "high", "xhigh"),
    ),
  },
  mistral: {
    urls: {
      chat_completions: "https://api.mistral.ai/v1/chat/completions",
    },
    credential: BEARER,
    // "extra_forbidden": https://github.com/BerriAI/litellm/issues/30835
    refuse: firstOf(
      fields("user", "stream_options", "seed", "max_completion_tokens"),
      foreignParts,
      longCallIds,
      efforts("none", "high"),
    ),
  },
  cerebras: {
    urls: {
      chat_completions: "https://api.cerebras.ai/v1/chat/completions",
    },
    credential: BEARER,
    // https://github.com/anomalyco/opencode/pull/26763, https://hexdocs.pm/req_llm/cerebras.html
    refuse: firstOf(
      fields("frequency_penalty", "presence_penalty", "logit_bias"),
      fields("service_tier"),
      ({ body }) =>
        body.tools !== undefined && body.response_format !== undefined
          ? '"tools" is incompatible with "response_format"'
          : undefined,
      foreignParts,
      efforts("low", "medium", "high"),
    ),
  },
  cohere: {
    urls: {
      chat_completions:
        "https://api.cohere.ai/compatibility/v1/chat/completions",
    },
    credential: BEARER,
    // https://docs.cohere.com/docs/compatibility-api#unsupported-parameters,
    // https://github.com/cohere-ai/cohere-developer-experience/pull/606
    refuse: firstOf(
      fields("store", "metadata", "logit_bias", "top_logprobs", "n"),
      fields("modalities", "prediction", "audio", "service_tier"),
      fields("parallel_tool_calls", "user"),
      efforts("none", "high"),
    ),
  },
  dashscope: {
    urls: {
      chat_completions:
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
      messages:
        "https://dashscope-intl.aliyuncs.com/apps/anthropic/v1/messages",
    },
    credential: BEARER,
    refuse: firstOf(
      ({ body }) =>
        body.tool_choice === "required" || isJsonObject(body.tool_choice)
          ? "The tool_choice parameter does not support being set to required or object in thinking mode"
          : undefined,
      ({ body }) =>
        body.response_format === undefined
          ? undefined
          : "Json mode response is not supported when enable_thinking is true",
    ),
  },
  volcengine: {
    urls: {
      chat_completions:
        "https://ark.cn-beijing.volces.com/api/v3/chat/completions",
    },
    credential: BEARER,
    refuse: firstOf(
      fields("stop"),
      efforts("minimal", "low", "medium", "high"),
    ),
  },
  together: {
    urls: {
      chat_completions: "https://api.together.ai/v1/chat/completions",
      completions: "https://api.together.ai/v1/completions",
    },
    credential: BEARER,
  },
  fireworks: {
    urls: {
      chat_completions:
        "https://api.fireworks.ai/inference/v1/chat/completions",
      messages: "https://api.fireworks.ai/inference/v1/messages",
      completions: "https://api.fireworks.ai/inference/v1/completions",
    },
    credential: BEARER,
  },
  nvidia: {
    urls: {
      chat_completions: "https://integrate.api.nvidia.com/v1/chat/completions",
    },
    credential: BEARER,
    refuse: efforts("low", "medium", "high"),
  },
  huggingface: {
    urls: {
      chat_completions: "https://router.huggingface.co/v1/chat/completions",
    },
    credential: BEARER,
  },
  ollama: inHouse(11434),
  vllm: inHouse(8000),
  sglang: {
    urls: {
      chat_completions: "http://127.0.0.1:30000/v1/chat/completions",
      messages: "http://127.0.0.1:30000/v1/messages",
      completions: "http://127.0.0.1:30000/v1/completions",
    },
  },
  llamacpp: inHouse(8080),
  lmstudio: inHouse(1234),
  litellm: { ...inHouse(4000), credential: BEARER },
} as const satisfies Readonly<Partial<Record<ServiceName, FakeProvider>>>;

const CREDENTIALS = ["authorization", "x-api-key", "api-key"];

/** Returns why a provider refuses a request, in its own words where they are known; `undefined` when it serves it. */
export function refusalOf(
  { urls, credential, refuse }: FakeProvider,
  request: FakeRequest,
): string | undefined {
  if (!Object.values(urls).includes(request.url)) {
    return `There is nothing at ${request.url}.`;
  }
  for (const name of CREDENTIALS) {
    const wanted = credential?.[0] === name ? credential[1] : null;
    if (request.headers.get(name) !== wanted) return `Wrong ${name} header.`;
  }
  return refuse?.(request);
}
