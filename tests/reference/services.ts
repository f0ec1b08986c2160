import type { QuotaKind } from "../../src/services/quota_kinds.ts";
import { variablesOf } from "../../src/services/preset.ts";
import {
  SERVICE_NAMES,
  type ServiceName,
  SERVICES,
} from "../../src/services/services.ts";
import { starterFile } from "../../src/services/starter.ts";

/** The display name of each service's provider. */
const PROVIDERS: Readonly<Record<ServiceName, string>> = {
  zai: "Z.ai, coding plan",
  bigmodel: "BigModel, coding plan",
  anthropic: "Anthropic",
  openai: "OpenAI, Responses",
  "openai-chat": "OpenAI, Chat and Responses",
  codex: "ChatGPT plans",
  openrouter: "OpenRouter",
  kimi: "Kimi, coding plan",
  moonshot: "Moonshot",
  minimax: "MiniMax",
  deepseek: "DeepSeek",
  mistral: "Mistral",
  gemini: "Gemini API",
  xai: "xAI",
  cohere: "Cohere",
  dashscope: "Alibaba Model Studio",
  volcengine: "Volcengine Ark",
  groq: "Groq",
  together: "Together AI",
  fireworks: "Fireworks AI",
  cerebras: "Cerebras",
  nvidia: "NVIDIA NIM",
  huggingface: "Hugging Face",
  siliconflow: "SiliconFlow",
  synthetic: "Synthetic",
  azure: "Azure OpenAI, Responses",
  "azure-chat": "Azure, Chat",
  "azure-claude": "Claude on Foundry",
  "aws-claude": "Claude on AWS",
  bedrock: "Bedrock, Chat",
  "bedrock-responses": "Bedrock, Responses",
  "bedrock-claude": "Bedrock, Claude",
  vertex: "Vertex AI",
  "vertex-claude": "Vertex AI, Claude",
  ollama: "Ollama",
  vllm: "vLLM",
  sglang: "SGLang",
  llamacpp: "llama.cpp",
  lmstudio: "LM Studio",
  litellm: "LiteLLM",
  gateway: "another Model Gateway",
  custom: "any other server",
};

const WORDS = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
  completions: "completions",
} as const;

const QUOTAS: Readonly<Partial<Record<QuotaKind, string>>> = {
  none: "nothing",
  headers: "its response headers",
  openai: "its response headers",
  groq: "its response headers",
  anthropic: "its endpoint or headers",
};

/** Returns a row for each service: its name, its provider, and the facts of its preset. */
export function serviceRows(): string[][] {
  return SERVICE_NAMES.map((service) => {
    const preset = SERVICES[service];
    const { family, endpoints, authScheme, isKeyOptional, quotaKind } = preset;
    const words = Object.entries(WORDS)
      .filter(([endpoint]) => endpoint in endpoints)
      .map(([, word]) => word);
    const scheme = authScheme && `\`${authScheme}\``;
    return [
      `[\`${service}\`](#${service})`,
      PROVIDERS[service],
      family ?? "as configured",
      words.join(", ") || "as configured",
      isKeyOptional ? `none, or ${scheme}` : scheme ?? "as configured",
      [...variablesOf(preset), ...preset.requiredHeaders]
        .map((name) => `\`${name}\``).join(", "),
      QUOTAS[quotaKind] ?? "its endpoint",
    ];
  });
}

/** Returns the `connections` entry of each service from `init`, without the comments for a whole file. */
export function serviceEntries(): ReadonlyMap<ServiceName, string> {
  return new Map(SERVICE_NAMES.map((service) => [service, entryOf(service)]));
}

function entryOf(service: ServiceName): string {
  const [, rest = ""] = starterFile([service]).split("\nconnections:\n");
  const [entry = ""] = rest.split(/^(?=# groups:)/m);
  return entry.split("\n").filter((line) => !PRICE_REGEXP.test(line))
    .map((line) => line.slice("  ".length).replace(FOR_A_FILE_REGEXP, "$1"))
    .join("\n").trimEnd();
}

/** Matches a list price, which docs/reference/prices.md has with its source. */
const PRICE_REGEXP = /^ {6}# (?:The list price of|- \{ id: )/;

/** Matches the comments of `init` that help to fill in a file. */
const FOR_A_FILE_REGEXP =
  /^((?:- name| {2}service| {2}auth| {4}-).*?) #(?! if the server).*$/;
