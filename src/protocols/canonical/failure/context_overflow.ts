/** The fields of an error that can report a prompt that is too long. */
interface OverflowWords {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
}

/**
 * The known messages by a page that quotes them, with the providers that send them. Others that run the same server
 * send the same. A pattern matches no other error of its provider.
 */
const MESSAGE_BY_SOURCE: Readonly<Record<string, RegExp>> = {
  // Anthropic, Fireworks, vLLM
  "https://github.com/RooCodeInc/Roo-Code/issues/5816":
    /\bprompt\b.{0,60}\bis too long\b/i,
  // Anthropic, with `max_tokens`
  "https://github.com/docker/docker-agent/issues/569":
    /input length and `?max_tokens`? exceed context limit/i,
  // OpenAI, Responses
  "https://github.com/openai/codex/issues/2921":
    /exceeds? the (?:model's )?context (?:window|limit|length)/i,
  // OpenAI, Azure
  "https://github.com/cline/cline/issues/5474":
    /input tokens exceed the configured limit/i,
  // OpenAI, DeepSeek, OpenRouter, vLLM
  "https://github.com/evalstate/fast-agent/issues/621":
    /(?:model|endpoint)'?s? maximum context length (?:is|of) [\d,]+ tokens/i,
  // SGLang, Cloudflare, mlx-serve
  "https://github.com/anomalyco/models.dev/pull/4422":
    /exceeds (?:the |the model's |model's )?maximum context length|tokens \([\d,]+\) exceeded this model context window limit/i,
  // SGLang, Together
  "https://github.com/QwenLM/Qwen3/issues/1321":
    /is longer than the model'?s context length/i,
  // SGLang
  "https://github.com/sgl-project/sglang/issues/4048":
    /input length \([\d,]+ tokens\) exceeds the maximum allowed length/i,
  // vLLM
  "https://github.com/xorbitsai/inference/issues/3785":
    /prompt \(length [\d,]+\) is longer than the maximum model length/i,
  // Volcengine Ark
  "https://github.com/langgenius/dify/issues/32221":
    /input length [\d,]+ exceeds the maximum (?:allowed input )?length/i,
  // SiliconFlow, about the prompt and with the output
  "https://github.com/chatboxai/chatbox/issues/2060":
    /length of prompt_tokens \([\d,]+\) must be less than max_seq_len|max_total_tokens \([\d,]+\) must be less than or equal to max_seq/i,
  // Groq, Cerebras
  "https://github.com/cline/cline/issues/5140":
    /reduce the length of the messages/i,
  // Gemini
  "https://github.com/google-gemini/gemini-cli/issues/6678":
    /input token count\b.{0,40}\bexceeds the maximum number of tokens/i,
  // xAI
  "https://github.com/cline/cline/issues/3120":
    /maximum prompt length is [\d,]+ but the request contains/i,
  // z.ai, BigModel
  "https://github.com/zeroclaw-labs/zeroclaw/issues/4124":
    /prompt exceeds max(?:imum)? length|Prompt ?超长/i,
  // Kimi
  "https://github.com/MoonshotAI/kimi-cli/issues/2011":
    /exceeded model token limit/i,
  // DashScope
  "https://github.com/QwenLM/qwen-code/issues/98":
    /range of input length should be/i,
  // MiniMax
  "https://github.com/MiniMax-AI/MiniMax-M2/issues/119":
    /context window exceeds limit/i,
  // Mistral
  "https://docs.mistral.ai/resources/known-limitations":
    /too large for model with [\d,]+ maximum context length/i,
  // GitHub Copilot
  "https://github.com/microsoft/copilot-intellij-feedback/issues/94":
    /prompt token count of [\d,]+ exceeds the limit of [\d,]+/i,
  // GitHub Models
  "https://github.com/cline/cline/issues/2115":
    /request body too large for \S+ model\. max size: [\d,]+ tokens/i,
  // Bedrock
  "https://github.com/aws-samples/bedrock-chat/issues/95":
    /input is too long for requested model/i,
  // Text Generation Inference, Together
  "https://github.com/huggingface/llm-vscode/issues/94":
    /inputs`? tokens \+ `?max_new_tokens`? must be <=/i,
  // Perplexity
  "https://github.com/crmne/ruby_llm/blob/fb5a49bf/spec/fixtures/vcr_cassettes/chat_real_error_scenarios_perplexity_sonar_handles_context_length_exceeded_errors.yml":
    /total length of all messages is too long/i,
  // llama.cpp
  "https://github.com/ggml-org/llama.cpp/pull/15780":
    /exceeds the available context size|context size has been exceeded/i,
  // llama-cpp-python
  "https://github.com/abetlen/llama-cpp-python/issues/416":
    /requested tokens \([\d,]+\) exceed context window of/i,
  // LM Studio
  "https://github.com/anomalyco/opencode/issues/2259":
    /tokens to keep from the initial prompt is greater than the context length/i,
  // LM Studio, older
  "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546":
    /model is loaded with context length of only [\d,]+ tokens/i,
  // LM Studio, MLX
  "https://github.com/anomalyco/opencode/issues/11141":
    /n_keep \([\d,]+\) >= n_ctx \([\d,]+\)/i,
  // Vertex AI
  "https://github.com/google-gemini/gemini-cli/issues/19727":
    /input token count is [\d,]+ but (?:the )?model (?:only )?supports up to/i,
  // SiliconFlow, newer models
  "https://github.com/leookun/cursor-byok/issues/129":
    /input tokens \([\d,]+\) has exceeded max_prompt_tokens/i,
  // Cohere
  "https://docs.cohere.com/v2/reference/errors":
    /too many tokens: (?:total number of tokens in the prompt|size limit exceeded)/i,
  // Text Generation Inference
  "https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs":
    /`?inputs`? must have less than [\d,]+ tokens/i,
  // vLLM, newer
  "https://github.com/vllm-project/vllm/issues/33418":
    /model'?s context length is only [\d,]+ tokens/i,
  // vLLM, Responses
  "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/serving_responses.py":
    /prompt length [\d,]+ exceeds the max_model_len/i,
  // LM Studio, in the middle of an answer
  "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1251":
    /reached context length of [\d,]+ tokens/i,
  // Bedrock, Amazon's own models
  "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md":
    /too many input tokens\. max input tokens|number of input tokens exceeds maximum length/i,
  // Together, with status 403
  "https://docs.together.ai/docs/error-codes":
    /input token count \+ max_tokens parameter must be less than the context length/i,
  // watsonx
  "https://cloud.ibm.com/apidocs/watsonx-ai":
    /input tokens [\d,]+ cannot exceed the total tokens limit/i,
  // Volcengine Ark, with images
  "https://www.volcengine.com/docs/82379/1299023":
    /tokens of image and text exceed max message tokens/i,
  // LiteLLM
  "https://docs.litellm.ai/docs/exception_mapping":
    /\bContextWindowExceededError\b/,
};

/** A client's patterns: for Ollama, and for unknown servers what most messages above have in common. */
const COMMON_SOURCE =
  "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts";
const COMMON_MESSAGES: readonly RegExp[] = [
  /prompt too long; exceeded (?:max )?context length/i,
  /context (?:length|window|size) (?:has been )?exceeded|(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|longer than|larger than|greater than) (?:(?:the|this|its|model'?s?|max(?:imum)?|allowed|available) ){0,4}context (?:length|window|size)/i,
  /\b(?:prompt|input)(?: tokens?| text| messages?)?(?: is| are)? too (?:long|large)\b|reduce the length of (?:the |your )?(?:input )?(?:prompt|input)\b/i,
  /\b(?:prompt|input)(?: tokens?| token count| length)?(?: [\d,]+| \([\d, a-z]+\))? (?:exceeds?|exceeded|cannot exceed|is (?:greater|longer|larger) than) (?:(?:the|model'?s|max(?:imum)?|allowed|number of) ){0,4}(?:limit|length|tokens?|input|max_\w+|[\d,]+)\b/i,
];

/** All known messages, each with its source. */
export const OVERFLOW_MESSAGES: readonly (readonly [
  source: string,
  pattern: RegExp,
])[] = [
  ...Object.entries(MESSAGE_BY_SOURCE),
  ...COMMON_MESSAGES.map((pattern) => [COMMON_SOURCE, pattern] as const),
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
  return OVERFLOW_MESSAGES.some(([, pattern]) => pattern.test(message)) &&
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

/** Returns a number with commas, or `NaN` for none, with which every comparison is false. */
export function numberIn(digits: string | undefined): number {
  return Number((digits ?? "none").replaceAll(",", ""));
}
