import { wordList } from "../../../core/collections.ts";

/** The marks of one kind of refusal: complete codes, or words in the message. */
export interface RefusalRow {
  /** The providers that send them. */
  readonly provider: string;
  /** In lower case, without any suffix after a dot. */
  readonly codes?: readonly string[];
  readonly words?: RegExp;
  /** The documentation, or a report that quotes the error. */
  readonly source: string;
}

/** Refusals of content by moderation, a policy or a safety system, with any status. */
export const CONTENT_ROWS: readonly RefusalRow[] = [
  {
    provider: "OpenAI",
    codes: wordList(`
      content_filter content_policy_violation image_content_policy_violation
      moderation_blocked cyber_policy bio_policy
    `),
    words: /rejected (by|as a result of) (the|our) safety system/i,
    source: "https://platform.openai.com/docs/guides/error-codes",
  },
  {
    provider: "OpenAI, code invalid_prompt",
    words:
      /prompt was flagged as potentially violating|limited access to this content for safety reasons/i,
    source: "https://github.com/microsoft/PyRIT/pull/1463",
  },
  {
    provider: "OpenAI, to agents",
    words: /content was flagged for possible cybersecurity risk/i,
    source: "https://github.com/openai/codex/issues/43131",
  },
  {
    provider: "Azure OpenAI",
    codes: ["content_filter", "responsibleaipolicyviolation"],
    words: /content management policy/i,
    source:
      "https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter",
  },
  {
    provider: "Anthropic",
    words: /^Output blocked by content filtering policy/i,
    source: "https://github.com/anthropics/claude-code/issues/6195",
  },
  {
    provider: "Anthropic, to agents",
    words:
      /request[^.]{0,80} (appears to violate our|blocked under Anthropic's) Usage Policy/i,
    source: "https://github.com/anthropics/claude-code/issues/65116",
  },
  {
    provider: "OpenRouter, moderation and guardrails",
    codes: ["content_policy_violation", "refusal"],
    words: /requires moderation on .+ input was flagged|^Request blocked: /i,
    source: "https://openrouter.ai/docs/api/reference/errors-and-debugging",
  },
  {
    provider: "Google",
    codes: wordList(`
      safety prohibited_content blocklist spii recitation image_safety
      model_armor
    `),
    words: /\bPROHIBITED_CONTENT\b/,
    source: "https://ai.google.dev/api/generate-content#BlockReason",
  },
  {
    provider: "Z.ai and BigModel",
    codes: ["1301"],
    words: /不安全或敏感内容|unsafe or sensitive content/i,
    source: "https://docs.z.ai/api-reference/api-code",
  },
  {
    provider: "DashScope",
    codes: ["data_inspection_failed", "datainspectionfailed"],
    words: /DataInspectionFailed|may contain inappropriate content/i,
    source: "https://help.aliyun.com/zh/model-studio/error-code",
  },
  {
    provider: "MiniMax",
    words: /\bnew_sensitive\b/i,
    source: "https://platform.minimax.io/docs/api-reference/errorcode",
  },
  {
    provider: "Moonshot",
    codes: ["content_filter"],
    words: /rejected because it was considered high risk/i,
    source: "https://github.com/MoonshotAI/kimi-cli/issues/1002",
  },
  {
    provider: "DeepSeek",
    words: /^Content Exists Risk$/i,
    source:
      "https://github.com/deepseek-ai/awesome-deepseek-integration/issues/13",
  },
  {
    provider: "xAI, with the same code as for missing rights",
    words: /^Content violates usage guidelines|\bSAFETY_CHECK_TYPE_/i,
    source: "https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267",
  },
  {
    provider: "Volcengine Ark",
    codes: wordList(`
      sensitivecontentdetected inputtextsensitivecontentdetected
      inputimagesensitivecontentdetected outputtextsensitivecontentdetected
      inputtextriskdetection inputimageriskdetection outputtextriskdetection
    `),
    source: "https://www.volcengine.com/docs/82379/1299023",
  },
  {
    provider: "StepFun",
    codes: ["censorship_blocked"],
    source: "https://platform.stepfun.com/docs/zh/api-reference/error-codes",
  },
  {
    provider: "Amazon Bedrock, behind LiteLLM",
    codes: ["guardrail_intervened"],
    words: /Violated guardrail policy|ContentPolicyViolationError/,
    source: "https://docs.litellm.ai/docs/proxy/guardrails/bedrock",
  },
  {
    provider: "Cloudflare AI Gateway",
    words: /^(Prompt|Response) blocked due to security configurations/i,
    source:
      "https://developers.cloudflare.com/ai-gateway/features/guardrails/set-up-guardrail",
  },
  {
    provider: "Portkey",
    codes: ["hooks_failed"],
    source: "https://portkey.ai/docs/product/guardrails",
  },
  {
    provider: "New API",
    codes: ["sensitive_words_detected", "prompt_blocked"],
    source: "https://github.com/QuantumNous/new-api",
  },
];

/** The error of a closed account. It may mention the content for which the account was closed. */
export const CLOSED_ACCOUNT: RefusalRow = {
  provider: "OpenAI, Anthropic, Moonshot and others",
  codes: wordList(`
    account_deactivated deactivated deactivated_workspace
    access_terminated_error
  `),
  words:
    /\b(account|organi[sz]ation|workspace|api key|access)( \S+){0,2} (is|was|been) (\w+ )?(disabled|deactivated|terminated|suspended|banned|revoked)\b|^Access terminated\b/i,
  source: "https://github.com/clacky-ai/openclacky/issues/192",
};

/** The error of a key that was good and is no more. A new one of the same account is accepted. */
export const EXPIRED_KEY: RefusalRow = {
  provider: "AWS",
  codes: ["expiredtokenexception", "unrecognizedclientexception"],
  words: /\bsecurity token included in the request is (expired|invalid)\b/i,
  source:
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html",
};

/** Errors about the gateway's key with another status than 401. */
export const KEY_ROWS: readonly RefusalRow[] = [
  CLOSED_ACCOUNT,
  {
    provider: "OpenAI",
    codes: ["invalid_api_key", "invalid_authentication"],
    source: "https://platform.openai.com/docs/guides/error-codes",
  },
  {
    provider: "xAI, as 400",
    words: /^Incorrect API key provided/i,
    source: "https://docs.x.ai/docs/key-information/debugging",
  },
  {
    provider: "Google, as 400",
    codes: ["api_key_invalid"],
    words: /^API key (not valid|expired)\b/i,
    source: "https://ai.google.dev/gemini-api/docs/troubleshooting",
  },
  {
    provider: "Anthropic and compatible servers",
    codes: ["authentication_error"],
    source: "https://docs.claude.com/en/api/errors",
  },
];

/**
 * Errors with 403 about the gateway's rights, its account or its country. The patterns may be broad, because a 403
 * that is not about content is never the caller's mistake.
 */
export const RIGHTS_ROWS: readonly RefusalRow[] = [
  ...KEY_ROWS,
  {
    provider: "OpenAI",
    codes: wordList(`
      model_not_found insufficient_permissions
      unsupported_country_region_territory request_forbidden
    `),
    source: "https://platform.openai.com/docs/guides/error-codes",
  },
  {
    provider: "Anthropic",
    codes: ["permission_error", "billing_error"],
    source: "https://docs.claude.com/en/api/errors",
  },
  {
    provider: "Google and xAI",
    codes: ["permission_denied", "permission-denied", "consumer_suspended"],
    source: "https://ai.google.dev/gemini-api/docs/troubleshooting",
  },
  {
    provider: "AWS, Volcengine and DashScope",
    codes: ["accessdenied", "accessdeniedexception", "accountoverdueerror"],
    source: "https://www.volcengine.com/docs/82379/1299023",
  },
  {
    provider: "OpenRouter and others, in the message",
    words:
      /\b(api[ _-]?key|key limit|credentials?|token|account|organi[sz]ation|project|workspace|team|permissions?|scopes?|not authorized|unauthorized|do(es)? not have access|subscription|plan|billing|balance|credits?|quota|region|country|territory)\b/i,
    source: "https://github.com/RooCodeInc/Roo-Code/issues/515",
  },
];

/** Errors of a rate limit that a request exceeds by itself, or for which the account lacks the credits. */
export const SIZE_ROWS: readonly RefusalRow[] = [
  {
    provider: "OpenAI, Groq and others",
    words:
      /\brequest (?:is )?too large\b|\b(?:tokens|size|length) must be reduced\b|\breduce your message size\b|\btoo many tokens in (?:this|the|your) (?:request|prompt)\b|\bsingle request\b/i,
    source: "https://github.com/continuedev/continue/issues/10602",
  },
  {
    provider: "Anthropic",
    words:
      /\b(?:extra usage|credits?) (?:is|are) required for [^.]{0,40}context\b/i,
    source: "https://github.com/anthropics/claude-code/issues/62199",
  },
];

/** Refusals of earlier reasoning that is bound to another conversation, changed, or from another provider. */
export const REASONING_ROWS: readonly RefusalRow[] = [
  {
    provider: "Anthropic",
    words:
      /Invalid `?signature`? in `?(redacted_)?thinking`? block|The block is bound to a different conversation/i,
    source:
      "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation",
  },
  {
    provider: "Anthropic, about the last answer",
    words:
      /`?thinking`? (or `?redacted_thinking`? )?blocks .* cannot be modified/i,
    source: "https://github.com/anthropics/claude-code/issues/63357",
  },
  {
    provider: "OpenAI",
    codes: ["invalid_encrypted_content"],
    words: /encrypted content .*could not be (verified|decrypted)/i,
    source: "https://github.com/openai/codex/issues/17541",
  },
  {
    provider: "OpenAI, about reasoning that it stores by id",
    words:
      /Item with id '?rs_\w+'? not found|of type '?reasoning'? was provided without its required following item/i,
    source: "https://github.com/vercel/ai/issues/7543",
  },
];
