/** The fields of an error that can report a prompt that is too long. */
interface OverflowWords {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
}

/** One provider's message for a prompt that is too long. */
interface OverflowRow {
  /** The provider that sends it. Others that run the same server send the same. */
  readonly provider: string;
  readonly pattern: RegExp;
  /** A page that quotes the message. */
  readonly source: string;
}

/** The known messages. Each pattern matches no other error of its provider. */
export const OVERFLOW_MESSAGES: readonly OverflowRow[] = [
  {
    provider: "Anthropic, Fireworks, vLLM",
    pattern: /\bprompt\b.{0,60}\bis too long\b/i,
    source: "https://github.com/RooCodeInc/Roo-Code/issues/5816",
  },
  {
    provider: "Anthropic, with `max_tokens`",
    pattern: /input length and `?max_tokens`? exceed context limit/i,
    source: "https://github.com/docker/docker-agent/issues/569",
  },
  {
    provider: "OpenAI, Responses",
    pattern: /exceeds? the (?:model's )?context (?:window|limit|length)/i,
    source: "https://github.com/openai/codex/issues/2921",
  },
  {
    provider: "OpenAI, Azure",
    pattern: /input tokens exceed the configured limit/i,
    source: "https://github.com/cline/cline/issues/5474",
  },
  {
    provider: "OpenAI, DeepSeek, OpenRouter, vLLM",
    pattern:
      /(?:model|endpoint)'?s? maximum context length (?:is|of) [\d,]+ tokens/i,
    source: "https://github.com/evalstate/fast-agent/issues/621",
  },
  {
    provider: "SGLang, Cloudflare, mlx-serve",
    pattern: /exceeds (?:the |the model's |model's )?maximum context length/i,
    source: "https://github.com/anomalyco/models.dev/pull/4422",
  },
  {
    provider: "SGLang, Together",
    pattern: /is longer than the model'?s context length/i,
    source: "https://github.com/QwenLM/Qwen3/issues/1321",
  },
  {
    provider: "SGLang",
    pattern:
      /input length \([\d,]+ tokens\) exceeds the maximum allowed length/i,
    source: "https://github.com/sgl-project/sglang/issues/4048",
  },
  {
    provider: "vLLM",
    pattern:
      /prompt \(length [\d,]+\) is longer than the maximum model length/i,
    source: "https://github.com/xorbitsai/inference/issues/3785",
  },
  {
    provider: "Volcengine Ark",
    pattern:
      /input length [\d,]+ exceeds the maximum (?:allowed input )?length/i,
    source: "https://github.com/langgenius/dify/issues/32221",
  },
  {
    provider: "SiliconFlow",
    pattern:
      /length of prompt_tokens \([\d,]+\) must be less than max_seq_len/i,
    source: "https://github.com/chatboxai/chatbox/issues/2060",
  },
  {
    provider: "Groq, Cerebras",
    pattern: /reduce the length of the messages/i,
    source: "https://github.com/cline/cline/issues/5140",
  },
  {
    provider: "Gemini",
    pattern:
      /input token count\b.{0,40}\bexceeds the maximum number of tokens/i,
    source: "https://github.com/google-gemini/gemini-cli/issues/6678",
  },
  {
    provider: "xAI",
    pattern: /maximum prompt length is [\d,]+ but the request contains/i,
    source: "https://github.com/cline/cline/issues/3120",
  },
  {
    provider: "z.ai, BigModel",
    pattern: /prompt exceeds max(?:imum)? length|Prompt ?超长/i,
    source: "https://github.com/zeroclaw-labs/zeroclaw/issues/4124",
  },
  {
    provider: "Kimi",
    pattern: /exceeded model token limit/i,
    source: "https://github.com/MoonshotAI/kimi-cli/issues/2011",
  },
  {
    provider: "DashScope",
    pattern: /range of input length should be/i,
    source: "https://github.com/QwenLM/qwen-code/issues/98",
  },
  {
    provider: "MiniMax",
    pattern: /context window exceeds limit/i,
    source: "https://github.com/MiniMax-AI/MiniMax-M2/issues/119",
  },
  {
    provider: "Mistral",
    pattern: /too large for model with [\d,]+ maximum context length/i,
    source: "https://docs.mistral.ai/resources/known-limitations",
  },
  {
    provider: "GitHub Copilot",
    pattern: /prompt token count of [\d,]+ exceeds the limit of [\d,]+/i,
    source: "https://github.com/microsoft/copilot-intellij-feedback/issues/94",
  },
  {
    provider: "GitHub Models",
    pattern: /request body too large for \S+ model\. max size: [\d,]+ tokens/i,
    source: "https://github.com/cline/cline/issues/2115",
  },
  {
    provider: "Bedrock",
    pattern: /input is too long for requested model/i,
    source: "https://github.com/aws-samples/bedrock-chat/issues/95",
  },
  {
    provider: "Text Generation Inference, Together",
    pattern: /inputs`? tokens \+ `?max_new_tokens`? must be <=/i,
    source: "https://github.com/huggingface/llm-vscode/issues/94",
  },
  {
    provider: "Perplexity",
    pattern: /total length of all messages is too long/i,
    source:
      "https://github.com/crmne/ruby_llm/blob/fb5a49bf/spec/fixtures/vcr_cassettes/chat_real_error_scenarios_perplexity_sonar_handles_context_length_exceeded_errors.yml",
  },
  {
    provider: "llama.cpp",
    pattern:
      /exceeds the available context size|context size has been exceeded/i,
    source: "https://github.com/ggml-org/llama.cpp/pull/15780",
  },
  {
    provider: "llama-cpp-python",
    pattern: /requested tokens \([\d,]+\) exceed context window of/i,
    source: "https://github.com/abetlen/llama-cpp-python/issues/416",
  },
  {
    provider: "Ollama",
    pattern: /prompt too long; exceeded (?:max )?context length/i,
    source:
      "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts",
  },
  {
    provider: "LM Studio",
    pattern:
      /tokens to keep from the initial prompt is greater than the context length/i,
    source: "https://github.com/anomalyco/opencode/issues/2259",
  },
  {
    provider: "LM Studio, older",
    pattern: /model is loaded with context length of only [\d,]+ tokens/i,
    source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546",
  },
  {
    provider: "LM Studio, MLX",
    pattern: /n_keep \([\d,]+\) >= n_ctx \([\d,]+\)/i,
    source: "https://github.com/anomalyco/opencode/issues/11141",
  },
  {
    provider: "Vertex AI",
    pattern:
      /input token count is [\d,]+ but (?:the )?model (?:only )?supports up to/i,
    source: "https://github.com/google-gemini/gemini-cli/issues/19727",
  },
  {
    provider: "SiliconFlow, newer models",
    pattern: /input tokens \([\d,]+\) has exceeded max_prompt_tokens/i,
    source: "https://github.com/leookun/cursor-byok/issues/129",
  },
  {
    provider: "SiliconFlow, with the output",
    pattern:
      /max_total_tokens \([\d,]+\) must be less than or equal to max_seq/i,
    source: "https://github.com/chatboxai/chatbox/issues/2060",
  },
  {
    provider: "Cohere",
    pattern:
      /too many tokens: (?:total number of tokens in the prompt|size limit exceeded)/i,
    source: "https://docs.cohere.com/v2/reference/errors",
  },
  {
    provider: "Text Generation Inference",
    pattern: /`?inputs`? must have less than [\d,]+ tokens/i,
    source:
      "https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs",
  },
  {
    provider: "vLLM, newer",
    pattern: /model'?s context length is only [\d,]+ tokens/i,
    source: "https://github.com/vllm-project/vllm/issues/33418",
  },
  {
    provider: "vLLM, Responses",
    pattern: /prompt length [\d,]+ exceeds the max_model_len/i,
    source:
      "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/serving_responses.py",
  },
  {
    provider: "LM Studio, in the middle of an answer",
    pattern: /reached context length of [\d,]+ tokens/i,
    source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1251",
  },
  {
    provider: "Bedrock, Amazon's own models",
    pattern:
      /too many input tokens\. max input tokens|number of input tokens exceeds maximum length/i,
    source:
      "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
  },
  {
    provider: "Cloudflare",
    pattern: /tokens \([\d,]+\) exceeded this model context window limit/i,
    source: "https://github.com/anomalyco/models.dev/pull/4422",
  },
  {
    provider: "Together, with status 403",
    pattern:
      /input token count \+ max_tokens parameter must be less than the context length/i,
    source: "https://docs.together.ai/docs/error-codes",
  },
  {
    provider: "watsonx",
    pattern: /input tokens [\d,]+ cannot exceed the total tokens limit/i,
    source: "https://cloud.ibm.com/apidocs/watsonx-ai",
  },
  {
    provider: "Volcengine Ark, with images",
    pattern: /tokens of image and text exceed max message tokens/i,
    source: "https://www.volcengine.com/docs/82379/1299023",
  },
  {
    // A pattern that most messages above have in common, for unknown servers.
    provider: "other servers, about the context",
    pattern:
      /context (?:length|window|size) (?:has been )?exceeded|(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|longer than|larger than|greater than) (?:(?:the|this|its|model'?s?|max(?:imum)?|allowed|available) ){0,4}context (?:length|window|size)/i,
    source:
      "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts",
  },
  {
    provider: "other servers, about the prompt",
    pattern:
      /\b(?:prompt|input)(?: tokens?| text| messages?)?(?: is| are)? too (?:long|large)\b|reduce the length of (?:the |your )?(?:input )?(?:prompt|input)\b/i,
    source:
      "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts",
  },
  {
    provider: "other servers, with numbers",
    pattern:
      /\b(?:prompt|input)(?: tokens?| token count| length)?(?: [\d,]+| \([\d, a-z]+\))? (?:exceeds?|exceeded|cannot exceed|is (?:greater|longer|larger) than) (?:(?:the|model'?s|max(?:imum)?|allowed|number of) ){0,4}(?:limit|length|tokens?|input|max_\w+|[\d,]+)\b/i,
    source:
      "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts",
  },
  {
    provider: "LiteLLM",
    pattern: /\bContextWindowExceededError\b/,
    source: "https://docs.litellm.ai/docs/exception_mapping",
  },
];

/** Complete codes and types in lower case, for providers whose messages alone are ambiguous. */
export const OVERFLOW_CODES: Readonly<Record<string, string>> = {
  // OpenAI, Azure, Groq, Cerebras, OpenRouter
  context_length_exceeded: "https://github.com/xtekky/gpt4free/issues/137",
  // z.ai, BigModel
  "1261": "https://github.com/zeroclaw-labs/zeroclaw/issues/4124",
  // Mistral
  "3051": "https://docs.mistral.ai/resources/known-limitations",
  // GitHub Copilot
  model_max_prompt_tokens_exceeded:
    "https://github.com/microsoft/copilot-intellij-feedback/issues/94",
  // GitHub Models
  tokens_limit_reached: "https://github.com/eslint/tsc-meetings/pull/593",
  // llama.cpp
  exceed_context_size_error: "https://github.com/ggml-org/llama.cpp/pull/15780",
  // Perplexity
  too_many_prompt_tokens:
    "https://github.com/crmne/ruby_llm/blob/fb5a49bf/spec/fixtures/vcr_cassettes/chat_real_error_scenarios_perplexity_sonar_handles_context_length_exceeded_errors.yml",
  // Anthropic's stop reason, which compatible servers use as an error code
  model_context_window_exceeded:
    "https://docs.claude.com/en/api/handling-stop-reasons",
};

/** Other errors with similar messages: an output limit that is too high, and a rate limit. */
const OTHER_MEANINGS: readonly RegExp[] = [
  // vLLM: "'max_tokens' or 'max_completion_tokens' is too large: 200000. This model's maximum context length is …"
  /(?<!(?:\+|and|plus) ?['"`]?)max_(?:completion_|output_|new_)?tokens['"`]?(?: \([\d,]+\))? (?:is too large|exceeds?|must be|cannot exceed)\b/i,
  /rate.?limit|too many requests|(?:tokens|requests) per (?:min|day|hour)|throttling|per-minute|\bTPM\b|\bquota\b/i,
];

/** Returns true when an error of any provider reports a prompt that is too long for the model. */
export function saysOverflow(words: OverflowWords): boolean {
  if (isOverflowCode(words.code) || isOverflowCode(words.type)) return true;
  const message = words.message ?? "";
  return OVERFLOW_MESSAGES.some(({ pattern }) => pattern.test(message)) &&
    !OTHER_MEANINGS.some((pattern) => pattern.test(message)) &&
    !isOutputAlone(message);
}

function isOverflowCode(code: string | undefined): boolean {
  return code !== undefined &&
    Object.hasOwn(OVERFLOW_CODES, code.toLowerCase());
}

const LIMIT_REGEXP = /context length (?:is only|is|of) ([\d,]+)/i;
const OUTPUT_REGEXP =
  /([\d,]+) (?:in (?:the|your) (?:completion|output)|output tokens|tokens for the completion|for the completion)/i;

/**
 * Returns true when the requested output alone fills the context window, so that no shorter prompt would fit. Clients
 * cause this when they send the window's size as the output limit
 * (https://github.com/OpenHands/OpenHands/issues/9937).
 */
function isOutputAlone(message: string): boolean {
  const limit = numberIn(LIMIT_REGEXP.exec(message)?.[1]);
  return numberIn(OUTPUT_REGEXP.exec(message)?.[1]) >= limit;
}

/** Returns the number, or `NaN` for none, with which every comparison is false. */
function numberIn(digits: string | undefined): number {
  return Number((digits ?? "none").replaceAll(",", ""));
}
