import { PLAIN, type ServicePreset } from "./preset.ts";

/** The presets of hosts that serve the open models of many makers. */
export const OPEN_MODELS = {
  // console.groq.com/docs/openai. Its Responses endpoint rejects settings of coding agents, which translation drops.
  groq: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://api.groq.com/openai/v1" },
    authScheme: "bearer",
    quotaKind: "groq",
  },
  // docs.together.ai/docs/inference/openai-compatibility. Responses serves some models only.
  together: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.together.ai/v1",
      completions: "https://api.together.ai/v1",
    },
    authScheme: "bearer",
    quotaKind: "none",
  },
  // docs.fireworks.ai/tools-sdks/openai-compatibility and /anthropic-compatibility. Its headers have the limits, but not
  // what is left of them (docs.fireworks.ai/serverless/rate-limits).
  fireworks: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.fireworks.ai/inference/v1",
      messages: "https://api.fireworks.ai/inference/v1",
      completions: "https://api.fireworks.ai/inference/v1",
    },
    authScheme: "bearer",
    quotaKind: "none",
  },
  // inference-docs.cerebras.ai/resources/openai. Penalties and `logit_bias` are a 400 (hexdocs.pm/req_llm/cerebras.html).
  cerebras: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://api.cerebras.ai/v1" },
    authScheme: "bearer",
    quotaKind: "headers",
    omit: ["frequency_penalty", "presence_penalty", "logit_bias"],
  },
  // docs.api.nvidia.com/nim/reference/llm-apis
  nvidia: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://integrate.api.nvidia.com/v1" },
    authScheme: "bearer",
    quotaKind: "none",
  },
  // huggingface.co/docs/inference-providers: a router. It serves no text completions.
  huggingface: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://router.huggingface.co/v1" },
    authScheme: "bearer",
    quotaKind: "none",
  },
  // docs.siliconflow.com. The mainland host is api.siliconflow.cn, which documents Messages too.
  siliconflow: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://api.siliconflow.com/v1" },
    authScheme: "bearer",
    quotaKind: "siliconflow",
  },
  // dev.synthetic.new/docs/api/overview
  synthetic: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.synthetic.new/openai/v1",
      messages: "https://api.synthetic.new/anthropic/v1",
      completions: "https://api.synthetic.new/openai/v1",
    },
    authScheme: "bearer",
    quotaKind: "synthetic",
  },
} as const satisfies Readonly<Record<string, ServicePreset>>;
