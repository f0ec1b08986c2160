import { type ServiceName, SERVICES } from "./services.ts";

/** The settings of a first connection to a service. */
interface Starter {
  /**
   * The environment variable that may hold the key instead of a file. Default: `NAME_API_KEY`, or no variable for a
   * server whose key is optional.
   */
  readonly variable?: string;
  /** A model of the service. */
  readonly model: string;
  /** The list price of the model and its date, as in docs/reference/prices.md. Absent if unknown. */
  readonly price?: readonly [date: string, price: string];
  /** Lines of YAML below the connection: required settings, and optional ones as comments. */
  readonly lines?: readonly string[];
}

const TEAM_PLAN = [
  "# quota: { plan: team, organization: ORGANIZATION, project: PROJECT } # for a team plan",
];

const AZURE_RESOURCE =
  "resource: my-resource # the name in https://my-resource.openai.azure.com";

const GOOGLE_TOKEN =
  "# The token expires after an hour. On Google Cloud, `auth: { exchange: { kind: google_metadata } }` needs none.";

const STARTERS: Readonly<Record<ServiceName, Starter>> = {
  zai: { model: "glm-5.1", lines: TEAM_PLAN },
  bigmodel: {
    model: "glm-5.1",
    lines: TEAM_PLAN,
  },
  anthropic: {
    model: "claude-sonnet-5-5",
    price: [
      "2026-10-24",
      "input: 2, cached_input: 0.1, cache_write: 2.5, cache_write_1h: 4, output: 10",
    ],
    lines: [
      "# Use an API key. Anthropic forbids serving others with the token of a Claude plan.",
    ],
  },
  openai: {
    model: "gpt-6.1-sol",
    price: [
      "2026-10-01",
      "input: 2, cached_input: 0.1, cache_write: 2.5, output: 10",
    ],
  },
  "openai-chat": { model: "gpt-5.2" },
  gemini: {
    model: "gemini-3.8-flash",
    price: ["2026-10-07", "input: 0.75, output: 3.75"],
  },
  xai: {
    model: "grok-4.6",
    price: ["2026-08-13", "input: 2, cached_input: 0.5, output: 6"],
  },
  cohere: { model: "command-a-03-2025" },
  dashscope: {
    model: "qwen3.8-max",
    lines: ["# Keys are valid in one region. This is Singapore."],
  },
  volcengine: { variable: "ARK_API_KEY", model: "doubao-seed-1-8-251228" },
  together: { model: "openai/gpt-oss-20b" },
  fireworks: {
    model: "accounts/fireworks/models/kimi-k2p5",
  },
  nvidia: { model: "openai/gpt-oss-120b" },
  huggingface: { variable: "HF_TOKEN", model: "openai/gpt-oss-120b" },
  azure: {
    variable: "AZURE_OPENAI_API_KEY",
    model: "gpt-6.1-sol",
    lines: [
      AZURE_RESOURCE,
      "# A model is named by its deployment. A token of Entra ID needs `scheme: bearer` in auth.",
    ],
  },
  "azure-chat": {
    model: "gpt-5.2",
    lines: [AZURE_RESOURCE],
  },
  "azure-claude": {
    model: "claude-sonnet-5-5",
    lines: [
      "resource: my-resource # the name in https://my-resource.services.ai.azure.com",
    ],
  },
  "aws-claude": {
    variable: "ANTHROPIC_AWS_API_KEY",
    model: "claude-sonnet-4-6",
    lines: [
      "region: us-west-2",
      "headers: { anthropic-workspace-id: wrkspc_01AbCdEf } # the workspace that pays",
    ],
  },
  bedrock: {
    model: "openai.gpt-oss-120b-1:0",
    lines: ["region: us-west-2"],
  },
  "bedrock-responses": {
    model: "openai.gpt-5.6-terra",
    lines: ["region: us-east-2"],
  },
  "bedrock-claude": {
    model: "anthropic.claude-sonnet-4-6",
    lines: [
      "region: us-west-2",
      "# headers_drop: { anthropic-beta: [oauth-2025-04-20] } # betas that Bedrock refuses",
    ],
  },
  vertex: {
    variable: "VERTEX_ACCESS_TOKEN",
    model: "google/gemini-2.5-flash",
    lines: [
      "project: my-project",
      "region: europe-west1 # or global",
      GOOGLE_TOKEN,
    ],
  },
  "vertex-claude": {
    variable: "VERTEX_CLAUDE_ACCESS_TOKEN",
    model: "claude-sonnet-4-6",
    lines: [
      "project: my-project",
      "region: europe-west1 # or global, us, eu",
      GOOGLE_TOKEN,
    ],
  },
  ollama: { model: "qwen3-coder" },
  vllm: { model: "model-name" },
  sglang: { model: "model-name" },
  llamacpp: { model: "model-name" },
  lmstudio: { model: "model-name" },
  litellm: { variable: "LITELLM_API_KEY", model: "model-name" },
  codex: {
    variable: "CODEX_ACCESS_TOKEN",
    model: "gpt-6.1-sol",
    lines: [
      "# The key is the access token of a service account in a ChatGPT workspace. OpenAI forbids sharing a person's.",
    ],
  },
  openrouter: { model: "openrouter/auto" },
  kimi: { model: "kimi-for-coding" },
  moonshot: { model: "kimi-k2.6" },
  minimax: { model: "MiniMax-M3" },
  deepseek: {
    model: "deepseek-flash",
    price: ["2026-10-27", "input: 0.15, cached_input: 0.003, output: 0.6"],
  },
  groq: { model: "openai/gpt-oss-120b" },
  cerebras: { model: "gpt-oss-120b" },
  mistral: { model: "mistral-medium-latest" },
  siliconflow: {
    model: "deepseek-ai/DeepSeek-V3.2",
  },
  synthetic: {
    model: "hf:moonshotai/Kimi-K2.5",
  },
  gateway: {
    variable: "GATEWAY_TOKEN",
    model: "model-name",
    lines: [
      "family: A # A: Chat Completions, B: Messages, C: Responses",
      "endpoints: { chat: https://gateway.example.com/v1 } # its base URL",
    ],
  },
  custom: {
    variable: "PROVIDER_API_KEY",
    model: "model-name",
    lines: [
      "family: A # A: Chat Completions, B: Messages, C: Responses",
      "endpoints: { chat: https://api.example.com/v1 } # its base URL",
      "# For a provider without keys, auth is `{ scheme: none }`.",
    ],
  },
};

/**
 * Returns a commented first `gateway.yaml` for these services. The services must differ. The file is valid once its key
 * files and the folder of its tokens exist.
 */
export function starterFile(services: readonly ServiceName[]): string {
  return `# yaml-language-server: $schema=gateway.schema.json
# For editors that read that line: \`model-gateway schema > gateway.schema.json\`.
# 1. Write each provider's key into the file that its \`key_file\` names, beside this file.
# 2. mkdir tokens.d && model-gateway token new --many names.txt --to tokens.d/staff.yaml --secrets tokens.txt
# 3. model-gateway check
# A change of this file, or of a file that it names, takes effect without a restart.
# Every setting is in docs/configuration.md.

server:
  host: 127.0.0.1 # 0.0.0.0 is every address. Then use a certificate, or a proxy with TLS
  port: 8787

connections:
${services.map(connectionLines).join("")}
# groups: # a team: what its members may use, and the limits that they share
#   engineering: { connections: [${
    services.join(", ")
  }], limits: [{ window: day, tokens: 5000000 }] }
include: [tokens.d/*.yaml] # files with \`tokens\` and \`groups\`; both may stand in this file, too
`;
}

function connectionLines(service: ServiceName): string {
  const { model, price, lines = [] } = STARTERS[service];
  return `  - name: ${service} # the name for people
    service: ${service}${presetComment(service)}
${authLine(service)}${lines.map((line) => `    ${line}\n`).join("")}\
    models:
      - ${model} # add others, by the provider's names
${priceComment(model, price)}`;
}

/** Returns the list price as a YAML comment, because prices change and companies have their own prices. */
function priceComment(model: string, price: Starter["price"]): string {
  if (price === undefined) return "";
  const [date, fields] = price;
  return `      # The list price of ${date}. docs/reference/prices.md has its source and its rates:
      # - { id: ${model}, price: { ${fields} } }
`;
}

function authLine(service: ServiceName): string {
  const { variable = usualVariable(service) } = STARTERS[service];
  return variable === undefined
    ? `    # auth: { key_file: keys/${service} } # if the server needs a key\n`
    : `    auth: { key_file: keys/${service} } # or { key: "\${${variable}}" }, which is read once at the start\n`;
}

function usualVariable(service: ServiceName): string | undefined {
  if (SERVICES[service].isKeyOptional) return undefined;
  return `${service.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}

/** Returns a comment with the preset's endpoints, grouped by address. The file need not set these endpoints. */
function presetComment(service: ServiceName): string {
  const { endpoints } = SERVICES[service];
  const byUrl = Map.groupBy(Object.entries(endpoints), ([, url]) => url);
  const parts = [...byUrl].map(([url, ofUrl]) =>
    `${ofUrl.map(([endpoint]) => endpoint).join(", ")} at ${url}`
  );
  return parts.length === 0 ? "" : ` # ${parts.join("; ")}`;
}
