import type { JsonValue } from "../../../src/base/json.ts";
import type { FailureKind } from "../../../src/codecs/canonical/failure/failure.ts";

/** A provider's error. */
export interface ProviderError {
  /** The provider's name. */
  readonly provider: string;
  /** The HTTP status; 200 for an error inside a successful response. */
  readonly status: number;
  /** A JSON body, or the text of another body. */
  readonly body: JsonValue;
  /** The URL of a page that shows it, or the folder of a recording. */
  readonly source: string;
  /** True when it never arrives inside a successful response. */
  readonly isOutside?: boolean;
}

/** Returns the usual error of each protocol, with a provider's message. */
function envelope(
  message: string,
  fields: { readonly type?: string; readonly code?: JsonValue } = {},
): JsonValue {
  return {
    error: { message, type: "invalid_request_error", param: null, ...fields },
  };
}

/** Anthropic's error for a request. */
const anthropic = (message: string): JsonValue => ({
  type: "error",
  error: { type: "invalid_request_error", message },
});

/** The error of vLLM and SGLang for a request. */
const vllm = (message: string): JsonValue => (
  { object: "error", message, type: "BadRequestError", param: null, code: 400 }
);

const pi =
  "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts";

/** An error in a table. The default status is 400. */
type Row = Omit<ProviderError, "provider" | "status"> & {
  readonly status?: number;
};

/** An error with another meaning. */
type OtherRow = Row & { readonly kind: FailureKind };

const INVALID = { kind: "invalid_request" } as const;

/** Returns the errors of a table of providers. */
function errorsOf<Kind extends Row>(rows: Readonly<Record<string, Kind>>) {
  return Object.entries(rows).map(([provider, row]) => (
    { provider, status: 400, ...row }
  ));
}

/** Returns rows of errors that have the usual envelope, these messages, and these fields. */
function inWords<Fields extends object>(
  who: string,
  messages: readonly string[],
  fields: Fields,
): Readonly<Record<string, Row & Fields>> {
  return Object.fromEntries(messages.map((message) => [
    `${who}: ${message}`,
    { body: envelope(message), source: pi, ...fields },
  ]));
}

const OVERFLOW_ROWS: Readonly<Record<string, Row>> = {
  "Anthropic": {
    body: anthropic("prompt is too long: 208732 tokens > 200000 maximum"),
    source: "https://github.com/RooCodeInc/Roo-Code/issues/5816",
  },
  "Anthropic, with max_tokens": {
    body: {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
      },
      request_id: "req_011CUB2XUHWkFnQzxcKBbjpF",
    },
    source: "https://github.com/docker/docker-agent/issues/569",
  },
  "OpenAI": {
    body: envelope(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8202 tokens. Please reduce the length of the messages.",
      { code: "context_length_exceeded" },
    ),
    source: "https://github.com/dimagi/open-chat-studio/issues/463",
  },
  "OpenAI, Responses, without its code": {
    body: envelope(
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      { type: "upstream_error", code: null },
    ),
    source: "https://github.com/openai/codex/issues/2921",
  },
  "Azure": {
    body: envelope(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce the length of the messages.",
    ),
    source: "https://github.com/cline/cline/issues/5474",
  },
  "DeepSeek": {
    body: envelope(
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
      { code: "invalid_request_error" },
    ),
    source: "https://github.com/evalstate/fast-agent/issues/621",
  },
  "OpenRouter": {
    body: {
      error: {
        message:
          "This endpoint's maximum context length is 204800 tokens. However, you requested about 212000 tokens (168000 of text input, 12000 of tool input, 32000 in the output). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.",
        code: 400,
      },
    },
    source: "https://github.com/Kilo-Org/cloud/pull/2671",
  },
  "OpenRouter, about its provider": {
    body: {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: {
          raw:
            '{"error":{"message":"The input (516368 tokens) is longer than the model\'s context length (262144 tokens).","type":"invalid_request_error","code":null}}',
          provider_name: "Together",
        },
      },
      user_id: "user_1",
    },
    source:
      "chat-http400-openrouter-google-gemma-3n-e4b-it-free-streaming; https://github.com/Alishahryar1/free-claude-code/issues/263",
  },
  "vLLM": {
    body: vllm(
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    ),
    source: "https://github.com/vllm-project/vllm/issues/20409",
  },
  "vLLM, at its engine": {
    status: 500,
    body: envelope(
      "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.",
      { type: "InternalServerError", code: 500 },
    ),
    source: "https://github.com/xorbitsai/inference/issues/3785",
  },
  "vLLM, with pictures": {
    body: envelope(
      "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
      { type: "BadRequestError", code: 400 },
    ),
    source: "https://github.com/vllm-project/vllm/issues/12165",
  },
  "SGLang": {
    body: vllm(
      "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    ),
    source: "https://github.com/QwenLM/Qwen3/issues/1321",
  },
  "SGLang, with a smaller cache": {
    body: {
      object: "error",
      message:
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
      type: "BadRequestError",
      code: 400,
    },
    source: "https://github.com/sgl-project/sglang/issues/4048",
  },
  "Cloudflare": {
    body: {
      errors: [{
        message:
          "AiError: Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion.",
        code: 5021,
      }],
      success: false,
      result: {},
      messages: [],
    },
    source: "https://github.com/anomalyco/models.dev/pull/4422",
  },
  "Together": {
    status: 422,
    body: envelope(
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`",
    ),
    source: "https://github.com/bytedance/UI-TARS-desktop/issues/626",
  },
  "Fireworks": {
    body: envelope(
      "The prompt is too long: 221782, model maximum context length: 202752",
    ),
    source: pi,
  },
  "Groq": {
    body: envelope(
      "Please reduce the length of the messages or completion.",
      { code: "context_length_exceeded" },
    ),
    source: pi,
  },
  "Cerebras": {
    body: {
      message:
        "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
    source: "https://github.com/cline/cline/issues/5140",
  },
  "Gemini": {
    body: [{
      error: {
        code: 400,
        message:
          "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        errors: [{
          message:
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
          domain: "global",
          reason: "badRequest",
        }],
        status: "INVALID_ARGUMENT",
      },
    }],
    source: "https://github.com/google-gemini/gemini-cli/issues/6678",
  },
  "Gemini, behind a proxy that quotes it": {
    body: {
      error: {
        message:
          '{\n  "error": {\n    "code": 400,\n    "message": "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).",\n    "status": "INVALID_ARGUMENT"\n  }\n}\n',
        code: 400,
        status: "Bad Request",
      },
    },
    source: "https://github.com/google-gemini/gemini-cli/issues/4231",
  },
  "xAI": {
    body: {
      code: "Client specified an invalid argument",
      error:
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    },
    source: "https://github.com/cline/cline/issues/3120",
  },
  "z.ai": {
    body: { error: { code: "1261", message: "Prompt exceeds max length" } },
    source: "https://github.com/zeroclaw-labs/zeroclaw/issues/4124",
  },
  "BigModel, in its own language": {
    body: { error: { code: "1261", message: "Prompt 超长" } },
    source: "https://docs.bigmodel.cn/cn/faq/api-code",
  },
  "Kimi": {
    body: envelope(
      "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
    ),
    source: "https://github.com/MoonshotAI/kimi-cli/issues/2011",
  },
  "DashScope": {
    body: {
      error: {
        code: "invalid_parameter_error",
        message:
          "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
        param: null,
        type: "invalid_request_error",
      },
      request_id: "81a373d6-28bd-9968-8335-e22a2127c41b",
    },
    source: "https://github.com/agentscope-ai/QwenPaw/issues/6255",
  },
  "MiniMax": {
    body: anthropic("invalid params, context window exceeds limit (2013)"),
    source: "https://github.com/MiniMax-AI/MiniMax-M2/issues/119",
  },
  "Mistral": {
    body: {
      object: "error",
      message:
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      type: "invalid_request_prompt",
      param: null,
      code: "3051",
    },
    source: pi,
  },
  "GitHub Copilot": {
    body: {
      error: {
        message: "prompt token count of 138898 exceeds the limit of 64000",
        code: "model_max_prompt_tokens_exceeded",
      },
    },
    source: "https://github.com/microsoft/copilot-intellij-feedback/issues/94",
  },
  "GitHub Copilot, without its code": {
    body: {
      error: {
        message: "prompt token count of 65446 exceeds the limit of 64000",
        param: "",
        code: "",
        type: "",
      },
    },
    source: "https://github.com/microsoft/vscode-copilot-release/issues/6700",
  },
  "GitHub Models": {
    status: 413,
    body: {
      error: {
        code: "tokens_limit_reached",
        message:
          "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        details:
          "Request body too large for gpt-4o model. Max size: 8000 tokens.",
      },
    },
    source: "https://github.com/eslint/tsc-meetings/pull/593",
  },
  "Bedrock": {
    body: {
      message:
        "The model returned the following errors: Input is too long for requested model.",
    },
    source: "https://github.com/continuedev/continue/issues/9592",
    isOutside: true,
  },
  "Volcengine Ark": {
    body: envelope("Input length 203743 exceeds the maximum length 202752", {
      type: "BadRequest",
      code: "InvalidParameter",
    }),
    source: "https://github.com/langgenius/dify/issues/32221",
  },
  "SiliconFlow": {
    body: {
      code: 20015,
      message:
        "length of prompt_tokens (68957) must be less than max_seq_len (65536).",
      data: null,
    },
    source: "https://github.com/chatboxai/chatbox/issues/2060",
  },
  "Perplexity": {
    body: {
      error: {
        message: "The total length of all messages is too long.",
        type: "too_many_prompt_tokens",
        code: 400,
      },
    },
    source:
      "chat-http400-perplexity-sonar-chat-real-error-scenarios-sonar-handles-context-length-exce",
  },
  "llama.cpp": {
    body: {
      error: {
        code: 400,
        message:
          "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9412,
        n_ctx: 8192,
      },
    },
    source: "https://github.com/ggml-org/llama.cpp/pull/15780",
  },
  "llama.cpp, older": {
    status: 500,
    body: {
      error: {
        code: 500,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "server_error",
      },
    },
    source: "https://github.com/ggml-org/llama.cpp/pull/15780",
  },
  "llama-cpp-python": {
    status: 500,
    body: {
      error: {
        message: "Requested tokens (2285) exceed context window of 2048",
        type: "internal_server_error",
        param: null,
        code: null,
      },
    },
    source: "https://github.com/fedora-copr/logdetective-website/pull/193",
  },
  "Ollama": {
    body: {
      error: "prompt too long; exceeded max context length by 100918 tokens",
    },
    source: pi,
  },
  "LM Studio": {
    body: {
      error:
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.",
    },
    source: "https://github.com/Gitlawb/openclaude/issues/353",
  },
  "LM Studio, older": {
    body: {
      error:
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.",
    },
    source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546",
  },
  "LM Studio, on a Mac": {
    body: {
      error: "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
    },
    source: "https://github.com/anomalyco/opencode/issues/11141",
  },
  "LiteLLM": {
    body: envelope(
      "litellm.ContextWindowExceededError: litellm.BadRequestError: this is what the provider said",
      { code: "400" },
    ),
    source: "https://docs.litellm.ai/docs/exception_mapping",
  },
  "mlx-serve": {
    body: envelope("Prompt exceeds maximum context length"),
    source: "https://github.com/ddalcu/mlx-serve/issues/66",
  },
  "Vertex AI": {
    body: [{
      error: {
        code: 400,
        message:
          "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again. You can also use the CountTokens API to calculate prompt token count and billable characters.",
        status: "INVALID_ARGUMENT",
      },
    }],
    source: "https://github.com/google-gemini/gemini-cli/issues/19727",
  },
  "SiliconFlow, of newer models": {
    body: {
      code: 20015,
      message:
        "number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.",
      data: null,
    },
    source: "https://github.com/leookun/cursor-byok/issues/129",
  },
  "SiliconFlow, with the output": {
    body: {
      code: 20015,
      message:
        "max_total_tokens (33792) must be less than or equal to max_seq_len (32768)",
      data: null,
    },
    source: "https://github.com/chatboxai/chatbox/issues/2060",
  },
  "Cohere": {
    body: {
      message:
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt, or enabling prompt truncating.",
    },
    source: "https://docs.cohere.com/v2/reference/errors",
    isOutside: true,
  },
  "Cohere, of newer models": {
    body: {
      id: "ef1ad312-576b-4720-8cd4-4b1759942dac",
      message:
        "too many tokens: size limit exceeded by 105000 tokens. Try using shorter or fewer inputs. The limit for this model is 8992 tokens.",
    },
    source: "https://docs.cohere.com/v2/reference/errors",
    isOutside: true,
  },
  "Text Generation Inference, without the output": {
    status: 422,
    body: {
      error:
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
      error_type: "validation",
    },
    source:
      "https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs",
  },
  "vLLM, newer": {
    body: envelope(
      "You passed 27905 input tokens and requested 4096 output tokens. However, the model's context length is only 32000 tokens, resulting in a maximum input length of 27904 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=27905)",
      { type: "BadRequestError", code: 400 },
    ),
    source: "https://github.com/vllm-project/vllm/issues/33418",
  },
  "vLLM, Responses": {
    body: envelope(
      "The engine prompt length 227861 exceeds the max_model_len 131072. Please reduce prompt.",
      { code: 400 },
    ),
    source:
      "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/serving_responses.py",
  },
  "Ollama, of its own engine": {
    status: 500,
    body: { error: "the input length exceeds the context length" },
    source: pi,
  },
  "LM Studio, in the middle of an answer": {
    body: {
      error:
        "Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.",
    },
    source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1251",
  },
  "Bedrock, Nova": {
    body: {
      message:
        "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
    },
    source:
      "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
    isOutside: true,
  },
  "Bedrock, Titan": {
    body: {
      message:
        "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279",
    },
    source: pi,
    isOutside: true,
  },
  "Cloudflare, with the output": {
    status: 413,
    body: {
      errors: [{
        message:
          "AiError: The estimated number of input and maximum output tokens (155740) exceeded this model context window limit (128000).",
        code: 5021,
      }],
      success: false,
      result: {},
      messages: [],
    },
    source: "https://github.com/anomalyco/models.dev/pull/4422",
  },
  "Together, as a 403": {
    status: 403,
    body: envelope(
      "Input token count + max_tokens parameter must be less than the context length of the model being queried. Set max_tokens to a lower number.",
    ),
    source: "https://docs.together.ai/docs/error-codes",
  },
  "watsonx": {
    body: {
      errors: [{
        code: "invalid_input_argument",
        message:
          "Invalid input argument for Model 'meta-llama/llama-2-70b-chat': the number of input tokens 4098 cannot exceed the total tokens limit 4096 for this model",
        more_info: "https://cloud.ibm.com/apidocs/watsonx-ai",
      }],
      trace: "f8a07210b001efe4c86",
      status_code: 400,
    },
    source: "https://cloud.ibm.com/apidocs/watsonx-ai",
    isOutside: true,
  },
  "Volcengine Ark, with pictures": {
    body: envelope(
      "Total tokens of image and text exceed max message tokens. Request id: 0217",
      { type: "BadRequest", code: "InvalidParameter" },
    ),
    source: "https://www.volcengine.com/docs/82379/1299023",
  },
};

/** Messages of servers without a recording. */
const OVERFLOW_WORDS = [
  "Prompt tokens too long",
  "Input is too long.",
  "Your prompt is too large for this model",
  "context length exceeded",
  "Context window exceeded: 41000 tokens",
  "Request exceeds the model context length",
  "The request exceeds the maximum context window of the model",
  "Prompt exceeds the context size of 4096 tokens",
  "The conversation overflows the context window",
  "prompt token count (8223) cannot exceed 8192. Please reduce the prompt",
  "Prompt tokens (12345) exceeds the limit of 4096",
  "Prompt length 12000 is greater than max_seq_len 8192",
  "The length of your prompt exceeds the model's max input limit 98304",
  "The total number of tokens in the prompt exceeds the limit of 32768",
  "Please reduce the length of the prompt",
];

/** Every known error for a prompt that exceeds the context window. */
export const OVERFLOWS: readonly ProviderError[] = errorsOf({
  ...OVERFLOW_ROWS,
  ...inWords("a server of its own words", OVERFLOW_WORDS, {}),
});

const OTHER_ROWS: Readonly<Record<string, OtherRow>> = {
  "z.ai: a parameter": {
    ...INVALID,
    body: {
      error: {
        code: "1210",
        message: "max_tokens参数非法：限制数值范围[1,131072]",
      },
    },
    source: "https://docs.z.ai/api-reference/api-code",
  },
  "OpenAI: more output than the model writes": {
    ...INVALID,
    body: envelope(
      "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you provided 200000.",
      { code: "invalid_value" },
    ),
    source: "https://github.com/anomalyco/models.dev/pull/4422",
  },
  "vLLM: more output than the window": {
    ...INVALID,
    body: envelope(
      "'max_tokens' or 'max_completion_tokens' is too large: 200000. This model's maximum context length is 131072 tokens and your request has 1000 input tokens (200000 > 131072 - 1000).",
      { type: "BadRequestError", code: 400 },
    ),
    source:
      "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/serving_engine.py",
  },
  "OpenRouter: as much output as the window": {
    ...INVALID,
    body: envelope(
      'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      { code: 400 },
    ),
    source: "https://github.com/OpenHands/OpenHands/issues/9937",
  },
  "Groq: more output than the model writes": {
    ...INVALID,
    body: envelope(
      "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model",
    ),
    source: "https://github.com/RooCodeInc/Roo-Code/issues/5729",
  },
  "Anthropic: more output than the model writes": {
    ...INVALID,
    body: anthropic(
      "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    ),
    source: "https://docs.claude.com/en/api/errors",
  },
  "DashScope: more output than the model writes": {
    ...INVALID,
    body: envelope("Range of max_tokens should be [1, 8192]", {
      code: "invalid_parameter_error",
    }),
    source: "https://github.com/QwenLM/qwen-code/issues/98",
  },
  "Text Generation Inference: more output than it writes": {
    ...INVALID,
    status: 422,
    body: {
      error: "Input validation error: `max_new_tokens` must be <= 192",
      error_type: "validation",
    },
    source: "https://github.com/huggingface/transformers/issues/28523",
  },
  "OpenAI: a field is too long": {
    ...INVALID,
    body: envelope(
      "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 71 instead.",
      { code: "string_above_max_length" },
    ),
    source: "https://github.com/jundot/omlx/issues/1997",
  },
  "Groq: too much for a minute": {
    kind: "too_large",
    status: 413,
    body: envelope(
      "Request too large for model `moonshotai/kimi-k2-instruct` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 10000, Requested 15088, please reduce your message size and try again.",
      { type: "tokens", code: "rate_limit_exceeded" },
    ),
    source: "https://github.com/cline/cline/issues/4971",
  },
  "OpenAI: too much for a minute": {
    kind: "too_large",
    status: 429,
    body: envelope(
      "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 132819. The input or output tokens must be reduced in order to run successfully.",
      { type: "tokens", code: "rate_limit_exceeded" },
    ),
    source: "https://github.com/continuedev/continue/issues/10602",
  },
  "Bedrock: too much for now": {
    kind: "rate_limited",
    status: 429,
    body: {
      message:
        "ThrottlingException: Too many tokens, please wait before trying again.",
    },
    source: pi,
  },
  "Anthropic: a body that is too large": {
    kind: "too_large",
    status: 413,
    body: {
      type: "error",
      error: {
        type: "request_too_large",
        message: "Request exceeds the maximum size",
      },
    },
    source: "https://docs.claude.com/en/api/errors",
  },
  "Cohere: more output than the model writes": {
    ...INVALID,
    body: {
      message:
        "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.",
    },
    source: "https://docs.cohere.com/v2/reference/errors",
  },
  "vLLM, newer: as much output as the window": {
    ...INVALID,
    body: envelope(
      "You passed 12 input tokens and requested 131072 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 0 tokens. Please reduce the length of the input prompt.",
      { type: "BadRequestError", code: 400 },
    ),
    source: "https://github.com/vllm-project/vllm/issues/33418",
  },
  "Anthropic: a picture": {
    ...INVALID,
    body: anthropic(
      "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6301048 bytes > 5242880 bytes",
    ),
    source: "https://docs.claude.com/en/api/errors",
  },
  "a server that only speaks of its window": {
    kind: "server",
    status: 500,
    body: envelope("The context length is 8192, and something broke", {
      type: "server_error",
    }),
    source: "tests/codecs/chat/failure_test.ts",
  },
};

/** Similar messages about something else. */
const OTHER_WORDS = [
  "max_tokens (200000) exceeds the model's context window of 131072 tokens",
  "`max_completion_tokens` must be less than the context length",
  "'max_output_tokens' exceeds the maximum context length",
  "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 130 instead.",
  "tools.0.function.description is too long: exceeds the maximum length of 1024",
  "The image is too large for this model",
  "Input should be less than or equal to 1",
  "prompt_cache_key is too long",
  "Number of request tokens has exceeded your per-minute rate limit",
  "This request would exceed your limit of 40,000 input tokens per minute",
  "Input tokens exceed the quota of your plan",
  "You requested up to 32000 tokens, but can only afford 1204 of your credits",
  "Requested tokens exceed the TPM limit of your project",
];

/** Errors with similar messages and another meaning, and that meaning. */
export const NO_OVERFLOWS = errorsOf({
  ...OTHER_ROWS,
  ...inWords("other words", OTHER_WORDS, INVALID),
});
