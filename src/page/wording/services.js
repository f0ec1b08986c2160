/**
 * The names of services for people. The list of quotas names a service as the configuration does.
 *
 * @typedef {string} ServiceName
 */

/** @type {Readonly<Record<ServiceName, string>>} */
const SERVICE_TEXTS = {
  zai: "Z.ai",
  bigmodel: "BigModel",
  anthropic: "Anthropic",
  openai: "OpenAI",
  "openai-chat": "OpenAI",
  codex: "ChatGPT plan",
  openrouter: "OpenRouter",
  kimi: "Kimi plan",
  moonshot: "Moonshot",
  minimax: "MiniMax",
  deepseek: "DeepSeek",
  mistral: "Mistral",
  gemini: "Gemini",
  xai: "xAI",
  cohere: "Cohere",
  dashscope: "Alibaba Model Studio",
  volcengine: "Volcengine",
  groq: "Groq",
  together: "Together",
  fireworks: "Fireworks",
  cerebras: "Cerebras",
  nvidia: "NVIDIA",
  huggingface: "Hugging Face",
  siliconflow: "SiliconFlow",
  synthetic: "Synthetic",
  azure: "Azure",
  "azure-chat": "Azure",
  "azure-claude": "Claude in Azure",
  "aws-claude": "Claude in AWS",
  bedrock: "Amazon Bedrock",
  "bedrock-responses": "Amazon Bedrock",
  "bedrock-claude": "Amazon Bedrock",
  vertex: "Google Vertex AI",
  "vertex-claude": "Google Vertex AI",
  ollama: "Ollama",
  vllm: "vLLM",
  sglang: "SGLang",
  llamacpp: "llama.cpp",
  lmstudio: "LM Studio",
  litellm: "LiteLLM",
  gateway: "another gateway",
  custom: "other provider",
};

/**
 * Returns the name of a service. The name of an unknown service is returned unchanged.
 *
 * @param {string} service The `service` of a connection.
 * @returns {string}
 */
export function serviceText(service) {
  return new Map(Object.entries(SERVICE_TEXTS)).get(service) ?? service;
}
