import type { Endpoint, Family } from "../core/protocol.ts";
import type { JsonObject } from "../core/json.ts";
import type { QuotaKind } from "./quota_kinds.ts";

/** Every value of a connection's `service`. */
export const SERVICE_NAMES = [
  "zai",
  "bigmodel",
  "anthropic",
  "openai",
  "codex",
  "openrouter",
  "kimi",
  "moonshot",
  "minimax",
  "deepseek",
  "groq",
  "cerebras",
  "mistral",
  "siliconflow",
  "synthetic",
  "gateway",
  "custom",
] as const;

/** A kind of service that has a preset. */
export type ServiceName = typeof SERVICE_NAMES[number];

/** The authentication scheme of a provider. */
export type AuthScheme = "bearer" | "x-api-key" | "none";

/** The defaults of a connection to a service. */
interface ServicePreset {
  /** `undefined` when the configuration must set it. */
  readonly family: Family | undefined;
  /** Base URLs. A configuration that sets any endpoint replaces them all. */
  readonly endpoints: Readonly<Partial<Record<Endpoint, string>>>;
  readonly authScheme: AuthScheme | undefined;
  readonly quotaKind: QuotaKind;
  readonly streamOnly: boolean;
  /** Body fields set on translated requests. The configuration adds to them. */
  readonly force: Readonly<JsonObject>;
  /** Body fields removed from translated requests. The configuration adds to them. */
  readonly omit: readonly string[];
}

const PLAIN: Pick<ServicePreset, "streamOnly" | "force" | "omit"> = {
  streamOnly: false,
  force: {},
  omit: [],
};

/**
 * The presets.
 *
 * A service of family A has a `messages` endpoint where the provider documents an Anthropic-compatible one. It has a
 * `responses` endpoint only where the provider documents one for all of its models. Z.ai and DeepSeek offer theirs for
 * some models, and translation serves all.
 *
 * `openai` has no `chat` endpoint although OpenAI serves one. Family C is native to Responses, so chat requests are
 * translated. To pass chat through, use a `service: custom` connection of family A.
 */
export const SERVICES: Readonly<Record<ServiceName, ServicePreset>> = {
  // docs.z.ai/devpack: the coding plan has its own chat base URL. /api/paas/v4 is pay as you go.
  zai: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.z.ai/api/coding/paas/v4",
      messages: "https://api.z.ai/api/anthropic/v1",
    },
    authScheme: "bearer",
    quotaKind: "zai",
  },
  // docs.bigmodel.cn/cn/coding-plan: the mainland counterpart of Z.ai. Keys are valid in one region.
  bigmodel: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://open.bigmodel.cn/api/coding/paas/v4",
      messages: "https://open.bigmodel.cn/api/anthropic/v1",
    },
    authScheme: "bearer",
    quotaKind: "bigmodel",
  },
  // An API key goes in `x-api-key`. An OAuth token of a plan needs `scheme: bearer`.
  anthropic: {
    ...PLAIN,
    family: "B",
    endpoints: { messages: "https://api.anthropic.com/v1" },
    authScheme: "x-api-key",
    quotaKind: "anthropic",
  },
  openai: {
    ...PLAIN,
    family: "C",
    endpoints: { responses: "https://api.openai.com/v1" },
    authScheme: "bearer",
    quotaKind: "openai",
  },
  // The back end of ChatGPT plans. `store` must be false, responses are SSE only, and each omitted field causes a 400
  // "Unsupported parameter".
  codex: {
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
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://openrouter.ai/api/v1",
      messages: "https://openrouter.ai/api/v1",
      responses: "https://openrouter.ai/api/v1",
      completions: "https://openrouter.ai/api/v1",
    },
    authScheme: "bearer",
    quotaKind: "openrouter",
  },
  // kimi.com/code/docs: the coding plan. Its keys (sk-kimi-…) are not valid on Moonshot's platform.
  kimi: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.kimi.com/coding/v1",
      messages: "https://api.kimi.com/coding/v1",
    },
    authScheme: "bearer",
    quotaKind: "kimi",
  },
  // platform.kimi.ai/docs/api/overview: pay as you go. The mainland host is api.moonshot.cn.
  moonshot: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.moonshot.ai/v1",
      messages: "https://api.moonshot.ai/anthropic/v1",
      responses: "https://api.moonshot.ai/v1",
    },
    authScheme: "bearer",
    quotaKind: "moonshot",
  },
  // platform.minimax.io/docs: the mainland host is api.minimaxi.com.
  minimax: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.minimax.io/v1",
      messages: "https://api.minimax.io/anthropic/v1",
      responses: "https://api.minimax.io/v1",
    },
    authScheme: "bearer",
    quotaKind: "minimax",
  },
  // api-docs.deepseek.com: text completion (fill in the middle) is under the beta base URL.
  deepseek: {
    ...PLAIN,
    family: "A",
    endpoints: {
      chat: "https://api.deepseek.com",
      messages: "https://api.deepseek.com/anthropic/v1",
      completions: "https://api.deepseek.com/beta",
    },
    authScheme: "bearer",
    quotaKind: "deepseek",
  },
  // console.groq.com/docs/openai. Its Responses endpoint rejects settings of coding agents, which translation drops.
  groq: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://api.groq.com/openai/v1" },
    authScheme: "bearer",
    quotaKind: "groq",
  },
  // inference-docs.cerebras.ai
  cerebras: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://api.cerebras.ai/v1" },
    authScheme: "bearer",
    quotaKind: "none",
  },
  // docs.mistral.ai/api
  mistral: {
    ...PLAIN,
    family: "A",
    endpoints: { chat: "https://api.mistral.ai/v1" },
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
  // Another Model Gateway. It takes a bearer token on every route, Messages included.
  gateway: {
    ...PLAIN,
    family: undefined,
    endpoints: {},
    authScheme: "bearer",
    quotaKind: "gateway",
  },
  custom: {
    ...PLAIN,
    family: undefined,
    endpoints: {},
    authScheme: undefined,
    quotaKind: "none",
  },
};
