import { CHAT_SERVICE, endpointsAt, type ServicePreset } from "./preset.ts";

/** The fields of a self-hosted server. The server's default address is on this host. */
const IN_HOUSE_SERVER = {
  ...CHAT_SERVICE,
  isKeyOptional: true,
} as const;

/** The presets of servers that a company runs itself. */
export const IN_HOUSE = {
  // docs.ollama.com/api/openai-compatibility and /anthropic-compatibility
  ollama: {
    ...IN_HOUSE_SERVER,
    endpoints: endpointsAt("http://127.0.0.1:11434/v1"),
  },
  // docs.vllm.ai/en/latest/serving/openai_compatible_server, and for Messages
  // docs.vllm.ai/en/stable/api/vllm/entrypoints/anthropic/serving
  vllm: {
    ...IN_HOUSE_SERVER,
    endpoints: endpointsAt("http://127.0.0.1:8000/v1"),
  },
  // docs.sglang.io/docs/basic_usage: openai_api_completions and anthropic_api
  sglang: {
    ...IN_HOUSE_SERVER,
    endpoints: endpointsAt("http://127.0.0.1:30000/v1", [
      "chat",
      "messages",
      "completions",
    ]),
  },
  // github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  llamacpp: {
    ...IN_HOUSE_SERVER,
    endpoints: endpointsAt("http://127.0.0.1:8080/v1"),
  },
  // lmstudio.ai/docs/developer/openai-compat and /anthropic-compat
  lmstudio: {
    ...IN_HOUSE_SERVER,
    endpoints: endpointsAt("http://127.0.0.1:1234/v1"),
  },
  // docs.litellm.ai/docs/proxy/user_keys
  litellm: {
    ...IN_HOUSE_SERVER,
    endpoints: endpointsAt("http://127.0.0.1:4000/v1"),
    quotaKind: "litellm",
  },
} as const satisfies Readonly<Record<string, ServicePreset>>;
