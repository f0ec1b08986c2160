import { type ServiceName, SERVICES } from "./services.ts";

/** The settings of a first connection to a service. */
interface Starter {
  /** The environment variable that may hold the key instead of a file. */
  readonly variable: string;
  /** A model of the service. */
  readonly model: string;
  /** Lines of YAML below the connection: required settings, and optional ones as comments. */
  readonly lines?: readonly string[];
}

const TEAM_PLAN = [
  "# quota: { plan: team, organization: ORGANIZATION, project: PROJECT } # for a team plan",
];

const STARTERS: Readonly<Record<ServiceName, Starter>> = {
  zai: { variable: "ZAI_API_KEY", model: "glm-5.1", lines: TEAM_PLAN },
  bigmodel: {
    variable: "BIGMODEL_API_KEY",
    model: "glm-5.1",
    lines: TEAM_PLAN,
  },
  anthropic: {
    variable: "ANTHROPIC_API_KEY",
    model: "claude-sonnet-4-5",
    lines: [
      "# An OAuth token of a plan, instead of an API key, needs `scheme: bearer` in auth.",
    ],
  },
  openai: { variable: "OPENAI_API_KEY", model: "gpt-5.5" },
  codex: {
    variable: "CODEX_ACCESS_TOKEN",
    model: "gpt-5.3-codex",
    lines: ["# The key is the access token of a ChatGPT plan."],
  },
  openrouter: { variable: "OPENROUTER_API_KEY", model: "openrouter/auto" },
  kimi: { variable: "KIMI_API_KEY", model: "kimi-for-coding" },
  moonshot: { variable: "MOONSHOT_API_KEY", model: "kimi-k2.6" },
  minimax: { variable: "MINIMAX_API_KEY", model: "MiniMax-M3" },
  deepseek: { variable: "DEEPSEEK_API_KEY", model: "deepseek-chat" },
  groq: { variable: "GROQ_API_KEY", model: "openai/gpt-oss-120b" },
  cerebras: { variable: "CEREBRAS_API_KEY", model: "gpt-oss-120b" },
  mistral: { variable: "MISTRAL_API_KEY", model: "mistral-medium-latest" },
  siliconflow: {
    variable: "SILICONFLOW_API_KEY",
    model: "deepseek-ai/DeepSeek-V3.2",
  },
  synthetic: {
    variable: "SYNTHETIC_API_KEY",
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
 * Returns a commented first `gateway.yaml` for these services, which must differ. It is valid once its key files and the
 * folder of its tokens exist.
 */
export function starterFile(services: readonly ServiceName[]): string {
  return `# yaml-language-server: $schema=gateway.schema.json
# For editors that read that line: \`model-gateway schema > gateway.schema.json\`.
# 1. Write each provider's key into the file that its \`key_file\` names, beside this file.
# 2. mkdir tokens.d && model-gateway token new --many names.txt > tokens.d/staff.yaml
# 3. model-gateway check
# A change of this file, or of a file that it names, takes effect without a restart.
# Every setting is in docs/configuration.md.

server:
  host: 127.0.0.1 # 0.0.0.0 is every address. Then use a certificate, or a proxy with TLS
  port: 8787

connections:
${services.map(connectionLines).join("")}
include: [tokens.d/*.yaml] # files with \`tokens\` and \`groups\`; both may stand in this file, too
`;
}

function connectionLines(service: ServiceName): string {
  const { variable, model, lines = [] } = STARTERS[service];
  return `  - name: ${service} # the name for people
    service: ${service}${presetComment(service)}
    auth: { key_file: keys/${service} } # or { key: "\${${variable}}" }, which is read once at the start
${lines.map((line) => `    ${line}\n`).join("")}\
    models:
      - ${model} # add others, by the provider's names
`;
}

/** Returns a comment with the preset's endpoints, which the file does not repeat. */
function presetComment(service: ServiceName): string {
  const endpoints = Object.entries(SERVICES[service].endpoints)
    .map(([endpoint, url]) => `${endpoint} at ${url}`);
  return endpoints.length === 0 ? "" : ` # ${endpoints.join(", ")}`;
}
