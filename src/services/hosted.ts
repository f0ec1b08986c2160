import {
  CHAT_SERVICE,
  endpointsAt,
  PLAIN,
  type ServicePreset,
} from "./preset.ts";

/** The presets of the model providers that have one public address. */
export const HOSTED = {
  // docs.z.ai/devpack: the coding plan has its own chat base URL. /api/paas/v4 is pay as you go.
  zai: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://api.z.ai/api/coding/paas/v4",
      messages: "https://api.z.ai/api/anthropic/v1",
    },
    quotaKind: "zai",
  },
  // docs.bigmodel.cn/cn/coding-plan: the mainland counterpart of Z.ai. Keys are valid in one region.
  bigmodel: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://open.bigmodel.cn/api/coding/paas/v4",
      messages: "https://open.bigmodel.cn/api/anthropic/v1",
    },
    quotaKind: "bigmodel",
  },
  // platform.claude.com/docs/en/api/overview: an API key goes in `x-api-key`. An OAuth token of a plan needs `scheme: bearer`.
  anthropic: {
    ...PLAIN,
    family: "B",
    endpoints: { messages: "https://api.anthropic.com/v1" },
    authScheme: "x-api-key",
    quotaKind: "anthropic",
  },
  // developers.openai.com/api/reference/overview
  openai: {
    ...PLAIN,
    family: "C",
    endpoints: { responses: "https://api.openai.com/v1" },
    authScheme: "bearer",
    quotaKind: "openai",
  },
  // The same API without translation for callers of Chat Completions and of Responses.
  "openai-chat": {
    ...CHAT_SERVICE,
    endpoints: endpointsAt("https://api.openai.com/v1", ["chat", "responses"]),
    quotaKind: "openai",
  },
  // The back end of ChatGPT plans. `store` must be false, responses are SSE only, and each field in `omit` would cause
  // a 400 "Unsupported parameter".
  codex: {
    ...PLAIN,
    family: "C",
    endpoints: { responses: "https://chatgpt.com/backend-api/codex" },
    authScheme: "bearer",
    quotaKind: "codex",
    streamOnly: true,
    force: { store: false },
    omit: [
      "max_output_tokens",
      "temperature",
      "top_p",
      "top_logprobs",
      "metadata",
      "truncation",
      "user",
      "safety_identifier",
      "prompt_cache_retention",
      "stream_options",
    ],
  },
  // openrouter.ai/docs: one base URL for every interface.
  openrouter: {
    ...CHAT_SERVICE,
    endpoints: endpointsAt("https://openrouter.ai/api/v1"),
    quotaKind: "openrouter",
  },
  // kimi.com/code/docs: the coding plan. Its keys (sk-kimi-…) are not valid on Moonshot's platform. Plans of kimi.ai have
  // the host api.kimi.ai (kimi.com/code/docs/en/third-party-tools/codex.html).
  kimi: {
    ...CHAT_SERVICE,
    endpoints: endpointsAt("https://api.kimi.com/coding/v1", [
      "chat",
      "messages",
    ]),
    quotaKind: "kimi",
  },
  // platform.kimi.ai/docs/api/overview: pay as you go. The mainland host is api.moonshot.cn.
  moonshot: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://api.moonshot.ai/v1",
      messages: "https://api.moonshot.ai/anthropic/v1",
      responses: "https://api.moonshot.ai/v1",
    },
    quotaKind: "moonshot",
  },
  // platform.minimax.io/docs: the mainland host is api.minimaxi.com.
  minimax: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://api.minimax.io/v1",
      messages: "https://api.minimax.io/anthropic/v1",
      responses: "https://api.minimax.io/v1",
    },
    quotaKind: "minimax",
  },
  // api-docs.deepseek.com: text completion (fill in the middle) is under the beta base URL.
  deepseek: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://api.deepseek.com",
      messages: "https://api.deepseek.com/anthropic/v1",
      completions: "https://api.deepseek.com/beta",
    },
    quotaKind: "deepseek",
  },
  // docs.mistral.ai/api
  mistral: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://api.mistral.ai/v1" },
  },
  // ai.google.dev/gemini-api/docs/openai. The API rejects an unknown field with a 400 "Cannot find field"
  // (github.com/Vali-98/ChatterUI/issues/227).
  gemini: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://generativelanguage.googleapis.com/v1beta/openai",
    },
    omit: ["frequency_penalty", "presence_penalty", "seed"],
  },
  // docs.x.ai/developers/rest-api-reference/inference. Messages is deprecated. All models of 2026 reject penalties
  // (github.com/miaoxworld/NativeTavern/issues/83).
  xai: {
    ...CHAT_SERVICE,
    endpoints: endpointsAt("https://api.x.ai/v1", ["chat", "responses"]),
    quotaKind: "headers",
    omit: ["frequency_penalty", "presence_penalty"],
  },
  // docs.cohere.com/docs/compatibility-api lists the parameters that it does not support.
  cohere: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://api.cohere.ai/compatibility/v1" },
    omit: [
      "parallel_tool_calls",
      "logprobs",
      "top_logprobs",
      "logit_bias",
      "n",
    ],
  },
  // alibabacloud.com/help/en/model-studio/base-url: the host of Singapore that all workspaces share. Keys are valid in
  // one region.
  dashscope: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
      messages: "https://dashscope-intl.aliyuncs.com/apps/anthropic/v1",
    },
  },
  // www.volcengine.com/docs/82379: Ark, with the models of ByteDance and others.
  volcengine: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://ark.cn-beijing.volces.com/api/v3" },
  },
} as const satisfies Readonly<Record<string, ServicePreset>>;
