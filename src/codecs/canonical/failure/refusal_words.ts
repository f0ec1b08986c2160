import { wordList } from "@gateway/base/collections";

/** The marks of one kind of refusal: complete codes, or words in the message. */
export interface RefusalRow {
  /** The codes in lower case, without any suffix after a dot. */
  readonly codes: readonly string[];
  readonly words: RegExp | undefined;
  /** The documentation, or a report that quotes the error. */
  readonly source: string;
}

/**
 * Reads a table. A row has its source (`gh:` is GitHub), codes, and the words as a regular expression in any case.
 * Lines with a deeper indent continue the row.
 */
export function refusalRows(table: string): readonly RefusalRow[] {
  return table.trim().split(/\n {2}(?=\S)/).map((row) => {
    const [, source = "", codes = "", words] =
      /^(\S+)((?:\s+[\w-]+)*)(?:\s+\/(.*)\/)?$/.exec(row.trim()) ?? [];
    return {
      source: source.replace(/^gh:/, "https://github.com/"),
      codes: codes.trim() === "" ? [] : wordList(codes),
      words: words === undefined ? undefined : new RegExp(words, "i"),
    };
  });
}

/** Refusals of content by moderation, a policy or a safety system, with any status. */
export const CONTENT_ROWS: readonly RefusalRow[] = refusalRows(String.raw`
  https://platform.openai.com/docs/guides/error-codes content_filter content_policy_violation
    image_content_policy_violation moderation_blocked cyber_policy bio_policy
    /rejected (by|as a result of) (the|our) safety system/
  gh:microsoft/PyRIT/pull/1463
    /prompt was flagged as potentially violating|limited access to this content for safety reasons/
  gh:openai/codex/issues/43131 /content was flagged for possible cybersecurity risk/
  https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter content_filter
    responsibleaipolicyviolation /content management policy/
  gh:anthropics/claude-code/issues/6195 /^Output blocked by content filtering policy/
  gh:anthropics/claude-code/issues/65116
    /request[^.]{0,80} (appears to violate our|blocked under Anthropic's) Usage Policy/
  https://openrouter.ai/docs/api/reference/errors-and-debugging content_policy_violation refusal
    /requires moderation on .+ input was flagged|^Request blocked: /
  https://ai.google.dev/api/generate-content#BlockReason safety prohibited_content blocklist spii recitation
    image_safety model_armor /\bPROHIBITED_CONTENT\b/
  https://docs.z.ai/api-reference/api-code 1301 /不安全或敏感内容|unsafe or sensitive content/
  https://help.aliyun.com/zh/model-studio/error-code data_inspection_failed datainspectionfailed
    /DataInspectionFailed|may contain inappropriate content/
  https://platform.minimax.io/docs/api-reference/errorcode /\bnew_sensitive\b/
  gh:MoonshotAI/kimi-cli/issues/1002 content_filter /rejected because it was considered high risk/
  gh:deepseek-ai/awesome-deepseek-integration/issues/13 /^Content Exists Risk$/
  gh:UKGovernmentBEIS/inspect_ai/pull/2267 /^Content violates usage guidelines|\bSAFETY_CHECK_TYPE_/
  https://www.volcengine.com/docs/82379/1299023 sensitivecontentdetected inputtextsensitivecontentdetected
    inputimagesensitivecontentdetected outputtextsensitivecontentdetected inputtextriskdetection inputimageriskdetection
    outputtextriskdetection
  https://platform.stepfun.com/docs/zh/api-reference/error-codes censorship_blocked
  https://docs.litellm.ai/docs/proxy/guardrails/bedrock guardrail_intervened
    /Violated guardrail policy|ContentPolicyViolationError/
  https://developers.cloudflare.com/ai-gateway/features/guardrails/set-up-guardrail
    /^(Prompt|Response) blocked due to security configurations/
  https://portkey.ai/docs/product/guardrails hooks_failed
  gh:QuantumNous/new-api sensitive_words_detected prompt_blocked
`);

/** The error of a closed account. It may mention the content for which the account was closed. */
export const CLOSED_ROWS: readonly RefusalRow[] = refusalRows(String.raw`
  gh:clacky-ai/openclacky/issues/192 account_deactivated deactivated deactivated_workspace access_terminated_error
    /\b(account|organi[sz]ation|workspace|api key|access)( \S+){0,2} (is|was|been) (\w+ )?(disabled|deactivated|terminated|suspended|banned|restricted|revoked)\b|^Access terminated\b/
`);

/** The errors of an expired key. A new key of the same account is accepted. */
export const EXPIRED_ROWS: readonly RefusalRow[] = refusalRows(String.raw`
  https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html expiredtokenexception
    unrecognizedclientexception /\bsecurity token included in the request is (expired|invalid)\b/
`);

/** Errors that are about the gateway's key, but have another status than 401. */
export const KEY_ROWS: readonly RefusalRow[] = [
  ...CLOSED_ROWS,
  ...refusalRows(String.raw`
  https://platform.openai.com/docs/guides/error-codes invalid_api_key invalid_authentication
  https://docs.x.ai/docs/key-information/debugging /^Incorrect API key provided/
  https://ai.google.dev/gemini-api/docs/troubleshooting api_key_invalid /^API key (not valid|expired)\b/
  https://docs.claude.com/en/api/errors authentication_error
  gh:anymorph-ai/Claudable/issues/45
    /^[^.]{0,40}\b(?:credential|api key|access token|subscription) is (?:only|not) authorized\b/
`),
];

/**
 * Errors with 403 about the gateway's rights, its account or its country. The patterns may be broad, because a 403
 * that is not about content is never the caller's mistake.
 */
export const RIGHTS_ROWS: readonly RefusalRow[] = [
  ...KEY_ROWS,
  ...refusalRows(String.raw`
  https://platform.openai.com/docs/guides/error-codes model_not_found insufficient_permissions
    unsupported_country_region_territory request_forbidden
  https://docs.claude.com/en/api/errors permission_error
  https://ai.google.dev/gemini-api/docs/troubleshooting permission_denied permission-denied consumer_suspended
  https://www.volcengine.com/docs/82379/1299023 accessdenied accessdeniedexception
  https://docs.siliconflow.cn/cn/faqs/error-code 30003
  gh:RooCodeInc/Roo-Code/issues/515
    /\b(api[ _-]?key|key limit|credentials?|token|account|organi[sz]ation|project|workspace|team|permissions?|scopes?|unauthorized|authorized|have access|signature|subscription|plan|balance|credits?|quota|region|country|territory)\b/
`),
];

/** Errors for a request that alone exceeds a rate limit, or that costs more credits than the account has. */
export const SIZE_ROWS: readonly RefusalRow[] = refusalRows(String.raw`
  gh:continuedev/continue/issues/10602
    /\brequest (?:is )?too large\b|\b(?:tokens|size|length) must be reduced\b|\breduce your message size\b|\btoo many tokens in (?:this|the|your) (?:request|prompt)\b|\bsingle request\b/
  gh:anthropics/claude-code/issues/42616 /\b(?:extra usage|credits?) (?:is|are) required for [^.]{0,40}context\b/
`);

/** Refusals of earlier reasoning that is bound to another conversation, changed, or from another provider. */
export const REASONING_ROWS: readonly RefusalRow[] = refusalRows(String.raw`
  https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
    /Invalid \x60?signature\x60? in \x60?(redacted_)?thinking\x60? block|The block is bound to a different conversation/
  gh:anthropics/claude-code/issues/63357
    /\x60?thinking\x60? (or \x60?redacted_thinking\x60? )?blocks .* cannot be modified/
  gh:openai/codex/issues/17541 invalid_encrypted_content /encrypted content .*could not be (verified|decrypted)/
  gh:vercel/ai/issues/7543
    /Item with id '?rs_\w+'? not found|of type '?reasoning'? was provided without its required following item/
`);
