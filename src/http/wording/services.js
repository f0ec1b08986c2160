/**
 * The names of services for people. The list of quotas has the words of the configuration.
 *
 * @typedef {import("../../config/services.ts").ServiceName} ServiceName
 */

/** @type {Readonly<Record<ServiceName, string>>} */
const SERVICE_TEXTS = {
  zai: "Z.ai",
  bigmodel: "BigModel",
  anthropic: "Anthropic",
  openai: "OpenAI",
  codex: "ChatGPT plan",
  openrouter: "OpenRouter",
  kimi: "Kimi plan",
  moonshot: "Moonshot",
  minimax: "MiniMax",
  deepseek: "DeepSeek",
  groq: "Groq",
  cerebras: "Cerebras",
  mistral: "Mistral",
  siliconflow: "SiliconFlow",
  synthetic: "Synthetic",
  gateway: "another gateway",
  custom: "other provider",
};

/**
 * Returns the name of a service; an unknown one is returned unchanged.
 *
 * @param {string} service The `service` of a connection.
 * @returns {string}
 */
export function serviceText(service) {
  return new Map(Object.entries(SERVICE_TEXTS)).get(service) ?? service;
}
