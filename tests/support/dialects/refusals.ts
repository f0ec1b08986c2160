import type { JsonValue } from "../../../src/base/json.ts";

/** A provider's refusal. */
export interface Refusal {
  /** The provider, and the case. */
  readonly name: string;
  readonly status: number;
  /** A JSON body, or the text of another body. */
  readonly body: JsonValue;
}

/** Refusals by their names. */
type Table = Readonly<Record<string, Omit<Refusal, "name">>>;

function named(table: Table): readonly Refusal[] {
  return Object.entries(table).map(([name, refusal]) => ({ name, ...refusal }));
}

const error = (fields: Readonly<Record<string, JsonValue>>) => ({
  error: fields,
});

const anthropicError = (type: string, message: string) => ({
  type: "error",
  error: { type, message },
  request_id: "req_1",
});

/** OpenRouter's refusal of a flagged prompt. */
export const MODERATED: Refusal = {
  name: "OpenRouter, moderation",
  status: 403,
  body: error({
    code: 403,
    message:
      'openai/gpt-5 requires moderation on OpenAI. Your input was flagged for "violence". No credits were charged.',
    metadata: {
      reasons: ["violence"],
      flagged_input: "How do I ...",
      provider_name: "OpenAI",
      model_slug: "openai/gpt-5",
    },
  }),
};

const CONTENT: Table = {
  "OpenRouter, a guardrail on its Messages path": {
    status: 403,
    body: anthropicError(
      "permission_error",
      "Request blocked: prompt injection patterns detected",
    ),
  },
  "OpenRouter, its provider's content filter": {
    status: 403,
    body: error({
      code: 403,
      message: "Input was flagged",
      metadata: {
        error_type: "content_policy_violation",
        provider_name: "Google",
        provider_code: "SAFETY",
      },
    }),
  },
  "OpenRouter, a refusal of the model's": {
    status: 403,
    body: error({
      code: 403,
      message: "provider refused",
      metadata: { error_type: "refusal", provider_name: "Anthropic" },
    }),
  },
  "OpenRouter, its provider's error as text": {
    status: 403,
    body: error({
      code: 403,
      message: "Provider returned error",
      metadata: {
        raw:
          '{"error":{"message":"The content you provided or machine outputted is blocked.","type":"censorship_blocked"}}',
        provider_name: "StepFun",
      },
    }),
  },
  "OpenAI, images": {
    status: 400,
    body: error({
      code: "content_policy_violation",
      message: "Your request was rejected as a result of our safety system.",
      param: null,
      type: "invalid_request_error",
    }),
  },
  "OpenAI, reasoning models": {
    status: 400,
    body: error({
      message:
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
      type: "invalid_request_error",
      param: null,
      code: "invalid_prompt",
    }),
  },
  "OpenAI, biology": {
    status: 400,
    body: error({
      message:
        "Invalid prompt: we've limited access to this content for safety reasons.",
      type: "invalid_request_error",
      param: null,
      code: "invalid_prompt",
    }),
  },
  "OpenAI, cyber policy": {
    status: 403,
    body: error({
      message: "This request has been flagged for potentially high risk.",
      type: "invalid_request_error",
      param: null,
      code: "cyber_policy",
    }),
  },
  "Azure OpenAI": {
    status: 400,
    body: error({
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
      type: null,
      param: "prompt",
      code: "content_filter",
      status: 400,
      innererror: {
        code: "ResponsibleAIPolicyViolation",
        content_filter_result: {
          violence: { filtered: true, severity: "medium" },
        },
      },
    }),
  },
  "Anthropic": {
    status: 400,
    body: anthropicError(
      "invalid_request_error",
      "Output blocked by content filtering policy",
    ),
  },
  "Anthropic, usage policy": {
    status: 403,
    body: anthropicError(
      "permission_error",
      "This request triggered restrictions on violative cyber content and was blocked under Anthropic's Usage Policy.",
    ),
  },
  "Google": {
    status: 400,
    body: [
      error({
        code: 400,
        message: "The prompt was blocked: PROHIBITED_CONTENT",
        status: "INVALID_ARGUMENT",
      }),
    ],
  },
  "Z.ai and BigModel": {
    status: 400,
    body: error({
      code: "1301",
      message:
        "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。",
    }),
  },
  "DashScope": {
    status: 400,
    body: {
      ...error({
        code: "data_inspection_failed",
        param: null,
        message: "Input data may contain inappropriate content.",
        type: "data_inspection_failed",
      }),
      id: "chatcmpl-1",
      request_id: "1",
    },
  },
  "DashScope, Messages path": {
    status: 400,
    body: anthropicError(
      "invalid_request_error",
      "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
    ),
  },
  "MiniMax, the prompt": {
    status: 422,
    body: error({ message: "input new_sensitive (1026)", type: "" }),
  },
  "MiniMax, the answer": {
    status: 500,
    body: anthropicError("api_error", "output new_sensitive (1027)"),
  },
  "Moonshot": {
    status: 400,
    body: error({
      code: 400,
      message: "The request was rejected because it was considered high risk",
      param: "prompt",
      type: "content_filter",
    }),
  },
  "DeepSeek": {
    status: 400,
    body: error({
      message: "Content Exists Risk",
      type: "invalid_request_error",
      param: null,
      code: "invalid_request_error",
    }),
  },
  "xAI": {
    status: 403,
    body: {
      code:
        "The caller does not have permission to execute the specified operation",
      error:
        "Content violates usage guidelines. Team: 00000000, API key ID: 11111111, Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO",
    },
  },
  "xAI, newer": {
    status: 403,
    body: {
      code: "permission-denied",
      error: "Content violates usage guidelines. ",
    },
  },
  "Volcengine Ark": {
    status: 400,
    body: error({
      code: "SensitiveContentDetected.SevereViolation",
      message:
        "The request failed because the input text may contain severe violation information.",
      type: "BadRequest",
    }),
  },
  "StepFun": {
    status: 451,
    body: error({
      message: "The content you provided or machine outputted is blocked.",
      type: "censorship_blocked",
    }),
  },
  "Bedrock behind LiteLLM": {
    status: 400,
    body: error({
      message:
        "{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'Blocked'}",
      type: "None",
      param: "None",
      code: "400",
    }),
  },
  "Cloudflare AI Gateway": {
    status: 424,
    body: {
      success: false,
      errors: [{
        code: 2016,
        message: "Prompt blocked due to security configurations",
      }],
    },
  },
};

/** Refusals because of the prompt. */
export const CONTENT_REFUSALS = [MODERATED, ...named(CONTENT)];

/** Refusals because of the gateway's key, its permissions or its account. */
export const GATEWAY_REFUSALS = named({
  "Anthropic, rights": {
    status: 403,
    body: anthropicError(
      "permission_error",
      "Your API key does not have permission to use the specified resource.",
    ),
  },
  "Anthropic, a closed account": {
    status: 400,
    body: anthropicError(
      "invalid_request_error",
      "This organization has been disabled.",
    ),
  },
  "OpenAI, a model that the project lacks": {
    status: 403,
    body: error({
      message: "Project `proj_1` does not have access to model `gpt-5`",
      type: "invalid_request_error",
      param: null,
      code: "model_not_found",
    }),
  },
  "OpenAI, where the gateway stands": {
    status: 403,
    body: error({
      code: "unsupported_country_region_territory",
      message: "Country, region, or territory not supported",
      param: null,
      type: "request_forbidden",
    }),
  },
  "Google, a key of another service": {
    status: 403,
    body: [
      error({
        code: 403,
        message:
          "Requests to this API generativelanguage.googleapis.com are blocked.",
        status: "PERMISSION_DENIED",
        details: [{ reason: "API_KEY_SERVICE_BLOCKED" }],
      }),
    ],
  },
  "Google, a key that is none": {
    status: 400,
    body: [
      error({
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
      }),
    ],
  },
  "xAI, rights": {
    status: 403,
    body: {
      code: "permission-denied",
      error: "Access to the chat endpoint is denied",
    },
  },
  "xAI, a key that is none": {
    status: 400,
    body: {
      code: "Client specified an invalid argument",
      error:
        "Incorrect API key provided: xa***yz. You can obtain an API key from https://console.x.ai.",
    },
  },
  "Moonshot, a closed account": {
    status: 403,
    body: error({
      message:
        "Access terminated. Review our Community Guidelines or contact support for assistance.",
      type: "access_terminated_error",
    }),
  },
  "an account that was closed for what was asked": {
    status: 403,
    body: error({
      message:
        "Your account has been suspended: your prompt was flagged as potentially violating our usage policy",
      type: "invalid_request_error",
    }),
  },
});

/** Refusals without a reason. */
export const UNEXPLAINED_REFUSALS: readonly Refusal[] = [
  { name: "an empty body", status: 403, body: "" },
  {
    name: "a firewall's page",
    status: 403,
    body:
      "<html><head><title>403 Forbidden</title></head><body><center>nginx</center></body></html>",
  },
  {
    name: "Cloudflare's page",
    status: 403,
    body:
      "<!DOCTYPE html><title>Attention Required! | Cloudflare</title><p>Sorry, you have been blocked</p>",
  },
  {
    name: "Anthropic, to whom it does not like",
    status: 403,
    body: error({ type: "forbidden", message: "Request not allowed" }),
  },
  { name: "an odd object", status: 403, body: { ok: false } },
];

/** Errors that resemble a refusal of the prompt. */
export const PLAIN_ERRORS = named({
  "a wrong field": {
    status: 400,
    body: error({
      message: "Invalid value for 'safety_identifier': it is too long",
      type: "invalid_request_error",
      param: "safety_identifier",
      code: "string_above_max_length",
    }),
  },
  "a prompt that does not exist": {
    status: 400,
    body: error({
      message: "Invalid prompt: 'messages' must be a list",
      type: "invalid_request_error",
      code: "invalid_prompt",
    }),
  },
  "words about a key in a field": {
    status: 400,
    body: error({
      message: "tools[0].name: 'api_key' is not a valid name",
      type: "invalid_request_error",
    }),
  },
  "a feature that is off": {
    status: 400,
    body: anthropicError(
      "invalid_request_error",
      "Prompt caching is disabled for this organization",
    ),
  },
});
