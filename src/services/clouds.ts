import { CHAT_SERVICE, PLAIN, type ServicePreset } from "./preset.ts";

/** Corrects the hosts of Google's regions `global`, `us` and `eu`, as npm `@anthropic-ai/vertex-sdk` does. */
const googleUrl = (filled: string): string =>
  filled.replace("//global-", "//")
    .replace(/\/\/(us|eu)-aiplatform\./, "//aiplatform.$1.rep.");

const AZURE_URL = "https://{resource}.openai.azure.com/openai/v1";

/** The presets of clouds. Their addresses have variables, such as a region. */
export const CLOUDS = {
  // learn.microsoft.com/azure/ai-foundry/openai/latest: the v1 API. A model is named by its deployment. A token of
  // Entra ID needs `scheme: bearer`.
  azure: {
    ...PLAIN,
    family: "C",
    endpoints: { responses: AZURE_URL },
    authScheme: "api-key",
    quotaKind: "headers",
  },
  // The same API. Chat Completions serves every model of Foundry, Responses those of OpenAI.
  "azure-chat": {
    ...PLAIN,
    family: "A",
    endpoints: { chat: AZURE_URL, responses: AZURE_URL },
    authScheme: "api-key",
    quotaKind: "headers",
  },
  // platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry: no rate limit headers.
  "azure-claude": {
    ...PLAIN,
    family: "B",
    endpoints: {
      messages: "https://{resource}.services.ai.azure.com/anthropic/v1",
    },
    authScheme: "api-key",
    quotaKind: "none",
  },
  // docs.aws.amazon.com/claude-platform/latest/userguide/making-requests.html: each request names a workspace.
  "aws-claude": {
    ...PLAIN,
    family: "B",
    endpoints: {
      messages: "https://aws-external-anthropic.{region}.api.aws/v1",
    },
    authScheme: "x-api-key",
    requiredHeaders: ["anthropic-workspace-id"],
    quotaKind: "none",
  },
  // docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html. The key is one of Bedrock's own.
  bedrock: {
    ...CHAT_SERVICE,
    endpoints: {
      chat: "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    },
  },
  // docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html: for some models only.
  "bedrock-responses": {
    ...PLAIN,
    family: "C",
    endpoints: {
      responses: "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    },
    authScheme: "bearer",
    quotaKind: "none",
  },
  // docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html: its example has the key in
  // `x-api-key`. bedrock-runtime has Messages too, below /anthropic; the page documents no header for its key.
  "bedrock-claude": {
    ...PLAIN,
    family: "B",
    endpoints: {
      messages: "https://bedrock-mantle.{region}.api.aws/anthropic/v1",
    },
    authScheme: "x-api-key",
    quotaKind: "none",
  },
  // cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview. The key is an access token, which expires
  // after an hour.
  vertex: {
    ...CHAT_SERVICE,
    endpoints: {
      chat:
        "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/endpoints/openapi",
    },
    urlOf: googleUrl,
  },
  // docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude: Messages, with the model in
  // the path and the version in the body (upstream/vertex_claude.ts).
  "vertex-claude": {
    ...PLAIN,
    family: "B",
    endpoints: {
      messages:
        "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/anthropic/models",
    },
    urlOf: googleUrl,
    authScheme: "bearer",
    quotaKind: "none",
    force: { anthropic_version: "vertex-2023-10-16" },
    omit: ["model"],
  },
} as const satisfies Readonly<Record<string, ServicePreset>>;
