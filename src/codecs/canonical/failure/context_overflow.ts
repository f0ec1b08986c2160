import type { ErrorWords } from "./error_words.ts";
import { type RefusalRow, refusalRows } from "./refusal_words.ts";

/**
 * All known errors for a prompt that is too long. Each row names a page that quotes the error. A row has a code if the
 * message alone is ambiguous. Providers with the same server software send the same messages. A pattern matches no
 * other error of its provider. The last patterns come from a client's code, and match messages of further servers.
 */
export const OVERFLOW_ROWS: readonly RefusalRow[] = refusalRows(String.raw`
  gh:RooCodeInc/Roo-Code/issues/5816 /\bprompt\b.{0,60}\bis too long\b/
  gh:docker/docker-agent/issues/569 /input length and \x60?max_tokens\x60? exceed context limit/
  gh:openai/codex/issues/2921 /exceeds? the (?:model's )?context (?:window|limit|length)/
  gh:cline/cline/issues/5474 /input tokens exceed the configured limit/
  gh:evalstate/fast-agent/issues/621 /(?:model|endpoint)'?s? maximum context length (?:is|of) [\d,]+ tokens/
  gh:xorbitsai/inference/issues/3785 /prompt \(length [\d,]+\) is longer than the maximum model length/
  gh:chatboxai/chatbox/issues/2060
    /length of prompt_tokens \([\d,]+\) must be less than max_seq_len|max_total_tokens \([\d,]+\) must be less than or equal to max_seq/
  gh:cline/cline/issues/5140 /reduce the length of the messages/
  gh:cline/cline/issues/3120 /maximum prompt length is [\d,]+ but the request contains/
  gh:zeroclaw-labs/zeroclaw/issues/4124 /prompt exceeds max(?:imum)? length|Prompt ?超长/
  gh:MoonshotAI/kimi-cli/issues/2011 /exceeded model token limit/
  gh:QwenLM/qwen-code/issues/98 /range of input length should be/
  gh:MiniMax-AI/MiniMax-M2/issues/119 /context window exceeds limit/
  https://docs.mistral.ai/resources/known-limitations /too large for model with [\d,]+ maximum context length/
  gh:microsoft/copilot-intellij-feedback/issues/94 /prompt token count of [\d,]+ exceeds the limit of [\d,]+/
  gh:cline/cline/issues/2115 /request body too large for \S+ model\. max size: [\d,]+ tokens/
  gh:huggingface/llm-vscode/issues/94 /inputs\x60? tokens \+ \x60?max_new_tokens\x60? must be <=/
  gh:crmne/ruby_llm/blob/fb5a49bf/spec/fixtures/vcr_cassettes/chat_real_error_scenarios_perplexity_sonar_handles_context_length_exceeded_errors.yml
    /total length of all messages is too long/
  gh:lmstudio-ai/lmstudio-bug-tracker/issues/546 /model is loaded with context length of only [\d,]+ tokens/
  gh:anomalyco/opencode/issues/11141 /n_keep \([\d,]+\) >= n_ctx \([\d,]+\)/
  gh:google-gemini/gemini-cli/issues/19727 /input token count is [\d,]+ but (?:the )?model (?:only )?supports up to/
  gh:leookun/cursor-byok/issues/129 /input tokens \([\d,]+\) has exceeded max_prompt_tokens/
  https://docs.cohere.com/v2/reference/errors
    /too many tokens: (?:total number of tokens in the prompt|size limit exceeded)/
  gh:huggingface/text-generation-inference/blob/main/router/src/validation.rs
    /\x60?inputs\x60? must have less than [\d,]+ tokens/
  gh:lmstudio-ai/lmstudio-bug-tracker/issues/1251 /reached context length of [\d,]+ tokens/
  gh:danny-avila/agents/blob/main/docs/context-overflow-signatures.md
    /too many input tokens\. max input tokens|number of input tokens exceeds maximum length/
  https://docs.together.ai/docs/error-codes
    /input token count \+ max_tokens parameter must be less than the context length/
  https://cloud.ibm.com/apidocs/watsonx-ai /input tokens [\d,]+ cannot exceed the total tokens limit/
  https://www.volcengine.com/docs/82379/1299023 /tokens of image and text exceed max message tokens/
  https://docs.litellm.ai/docs/exception_mapping /\bContextWindowExceededError\b/
  gh:badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts
    /context (?:length|window|size) (?:has been )?exceeded|(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|longer than|larger than|greater than) (?:(?:the|this|its|model'?s?|max(?:imum)?|allowed|available) ){0,4}context (?:length|window|size)/
  gh:badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts
    /\b(?:prompt|input)(?: tokens?| text| messages?)?(?: is| are)? too (?:long|large)\b|reduce the length of (?:the |your )?(?:input )?(?:prompt|input)\b/
  gh:badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts
    /\b(?:prompt|input|total tokens|tokens in request)(?: tokens?| token count| length)?(?: [\d,]+| \([\d, a-z]+\))? (?:exceeds?|exceeded|cannot exceed|(?:is )?(?:greater|longer|larger|more) than) (?:(?:the|model'?s|max(?:imum)?|allowed|number of) ){0,4}(?:limit|length|tokens?|input|max_\w+|[\d,]+)\b/
  gh:xtekky/gpt4free/issues/137 context_length_exceeded
  gh:zeroclaw-labs/zeroclaw/issues/4124 1261
  https://docs.mistral.ai/resources/known-limitations 3051
  gh:microsoft/copilot-intellij-feedback/issues/94 model_max_prompt_tokens_exceeded
  gh:eslint/tsc-meetings/pull/593 tokens_limit_reached
  gh:ggml-org/llama.cpp/pull/15780 exceed_context_size_error
  gh:crmne/ruby_llm/blob/fb5a49bf/spec/fixtures/vcr_cassettes too_many_prompt_tokens
  https://docs.claude.com/en/api/handling-stop-reasons model_context_window_exceeded
`);

/** Other errors with similar messages: an output limit that is too high, and a rate limit. */
const OTHER_MEANINGS: readonly RegExp[] = [
  // vLLM: "'max_tokens' or 'max_completion_tokens' is too large: 200000. This model's maximum context length is …"
  /(?<!(?:\+|and|plus) ?['"`]?)max_(?:completion_|output_|new_)?tokens['"`]?(?: \([\d,]+\))? (?:is too large|exceeds?|must be|cannot exceed)\b/i,
  /rate.?limit|too many requests|(?:tokens|requests) per (?:min|day|hour)|throttling|per-minute|\bTPM\b|\bquota\b/i,
];

/** Returns true when an error of any provider reports a prompt that is too long for the model. */
export function saysOverflow(words: ErrorWords): boolean {
  const { message = "", type = "", code = "" } = words;
  const named = [type, code].map((word) => word.toLowerCase());
  return OVERFLOW_ROWS.some(({ codes }) =>
    codes.some((one) => named.includes(one))
  ) ||
    OVERFLOW_ROWS.some((row) => row.words?.test(message)) &&
      !OTHER_MEANINGS.some((pattern) => pattern.test(message)) &&
      !isOutputAlone(message);
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

/** Parses a number with commas. Returns `NaN` for `undefined`, so that every comparison is false. */
export function numberIn(digits: string | undefined): number {
  return Number((digits ?? "none").replaceAll(",", ""));
}
