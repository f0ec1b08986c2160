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

/** A kind of upstream service that the gateway knows by name. */
export type ServiceName = typeof SERVICE_NAMES[number];

/** How the gateway's own credential is presented to an upstream. */
export type AuthScheme = "bearer" | "x-api-key" | "none";

/** What a connection to a service has unless its configuration says otherwise. */
interface ServicePreset {
  /** `undefined`: the configuration must say it. */
  readonly family: Family | undefined;
  /** Base URLs. A configuration that names any endpoint replaces them all. */
  readonly endpoints: Readonly<Partial<Record<Endpoint, string>>>;
  readonly authScheme: AuthScheme | undefined;
  readonly quotaKind: QuotaKind;
  readonly streamOnly: boolean;
  /** Body fields set on translated requests; the configuration adds to them. */
  readonly force: Readonly<JsonObject>;
  /** Body fields removed from translated requests; the configuration adds to them. */
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
 * The services of family A name a `messages` endpoint where the provider documents an
 * Anthropic-compatible one, and a `responses` endpoint only where the provider documents it for its
 * models in general: Z.ai and DeepSeek offer theirs for some models, and the translation serves all.
 *
 * `openai` has no `chat` endpoint although OpenAI serves it: family C is native to Responses, so chat
 * requests to it are translated. A connection that is to pass chat through is `service: custom` of
 * family A.
 */
export const SERVICES: Readonly<Record<ServiceName, ServicePreset>> = {
  // docs.z.ai/devpack: the coding plan has its own chat base; /api/paas/v4 is pay as you go.
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
  // docs.bigmodel.cn/cn/coding-plan: the mainland twin of Z.ai; keys belong to one region.
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
  // An API key goes in `x-api-key`; an OAuth token of a plan needs `scheme: bearer`.
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
  // The back end of ChatGPT plans: `store` must be false, answers come only as SSE, and each of these
  // fields is a 400 "Unsupported parameter".
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
  // kimi.com/code/docs: the coding plan; its keys (sk-kimi-…) are not valid at Moonshot's platform.
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
  // platform.kimi.ai/docs/api/overview: pay as you go; the mainland host is api.moonshot.cn.
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
  // api-docs.deepseek.com: text completion (fill in the middle) lives under the beta base.
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
  // console.groq.com/docs/openai. Its Responses refuse settings that coding agents send, which a translation drops.
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
  // docs.siliconflow.com; the mainland host is api.siliconflow.cn, which documents Messages too.
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
  // Another gateway of this interface: it takes a bearer token on every route, the Messages ones too.
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
