import { CHAT_SERVICE, endpointsAt, type ServicePreset } from "./preset.ts";

/** The presets of hosts that serve the open models of many makers. */
export const OPEN_MODELS = {
  // console.groq.com/docs/openai. Its Responses endpoint rejects settings of coding agents, which translation drops.
  groq: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://api.groq.com/openai/v1" },
    quotaKind: "groq",
  },
  // docs.together.ai/docs/inference/openai-compatibility. Responses serves some models only.
  together: {
    ...CHAT_SERVICE,
    endpoints: endpointsAt("https://api.together.ai/v1", [
      "chat",
      "completions",
    ]),
  },
  // docs.fireworks.ai/tools-sdks/openai-compatibility and /anthropic-compatibility. Its headers report the limits, but
  // not the remaining amounts (docs.fireworks.ai/serverless/rate-limits).
  fireworks: {
    ...CHAT_SERVICE,
    endpoints: endpointsAt("https://api.fireworks.ai/inference/v1", [
      "chat",
      "messages",
      "completions",
    ]),
  },
  // inference-docs.cerebras.ai/resources/openai. Penalties and `logit_bias` are a 400 (hexdocs.pm/req_llm/cerebras.html).
  cerebras: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://api.cerebras.ai/v1" },
    quotaKind: "headers",
    omit: ["frequency_penalty", "presence_penalty", "logit_bias"],
  },
  // docs.api.nvidia.com/nim/reference/llm-apis
  nvidia: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://integrate.api.nvidia.com/v1" },
  },
  // huggingface.co/docs/inference-providers: a router. It serves no text completions.
  huggingface: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://router.huggingface.co/v1" },
  },
  // docs.siliconflow.com. The mainland host is api.siliconflow.cn, which documents Messages too.
  siliconflow: {
    ...CHAT_SERVICE,
    endpoints: { chat: "https://api.siliconflow.com/v1" },
    quotaKind: "siliconflow",
  },
  // dev.synthetic.new/docs/api/overview
  synthetic: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://api.synthetic.new/openai/v1",
      messages: "https://api.synthetic.new/anthropic/v1",
      completions: "https://api.synthetic.new/openai/v1",
    },
    quotaKind: "synthetic",
  },
} as const satisfies Readonly<Record<string, ServicePreset>>;
