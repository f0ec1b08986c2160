import type { Effort } from "../canonical/request/request.ts";
import { ALL_EFFORTS, type ModelRow, rulesFor } from "./effort.ts";

/** The behavior of a model with a switch for thinking, in the Chat Completions of its own provider. */
export interface ThinkingRules {
  /** True when it thinks by default. */
  readonly byDefault: boolean;
  /** True when thinking can be turned off. */
  readonly canStop: boolean;
  /** The `thinking.type` that turns thinking on; `undefined` when it does not accept `thinking`. */
  readonly onWord: "enabled" | "adaptive" | undefined;
  /** The values of `reasoning_effort` that it accepts; empty when it accepts none. */
  readonly efforts: readonly Effort[];
  /**
   * The condition under which a request may force a tool call: `always`; `without_thinking`; `any_tool` (it must call a
   * tool, but the request cannot choose one); `never`.
   */
  readonly forcedTools: "always" | "without_thinking" | "any_tool" | "never";
  /** True when it accepts `tool_choice: "none"`; if false, the request must omit the tools instead. */
  readonly forbidsTools: boolean;
  /** True when, while thinking, it rejects assistant messages with tool calls but without their reasoning. */
  readonly wantsReasoningOfCalls: boolean;
  /** True when sampling is fixed and other values are rejected. */
  readonly fixedSampling: boolean;
}

type Rows = readonly ModelRow<ThinkingRules>[];

const KIMI: ThinkingRules = {
  byDefault: true,
  canStop: true,
  onWord: "enabled",
  efforts: [],
  forcedTools: "without_thinking",
  forbidsTools: true,
  wantsReasoningOfCalls: true,
  fixedSampling: true,
};

const KIMI_THINKING_PAGE =
  "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model";
const KIMI_EFFORT_PAGE =
  "https://platform.kimi.ai/docs/guide/use-reasoning-effort";
const KIMI_MODELS_PAGE = "https://platform.kimi.ai/docs/api/models-overview";

/** The models of Moonshot. */
export const KIMI_MODELS: Rows = [
  {
    models: /^(?:kimi-k2(?![.\dp]|-thinking)|moonshot-)/,
    examples: ["kimi-k2-0905-preview", "kimi-k2-turbo-preview", "moonshot-v1"],
    sources: [KIMI_MODELS_PAGE],
    rules: {
      ...KIMI,
      byDefault: false,
      onWord: undefined,
      forcedTools: "always",
      wantsReasoningOfCalls: false,
      fixedSampling: false,
    },
  },
  {
    models: /^kimi-k2-thinking/,
    examples: ["kimi-k2-thinking", "kimi-k2-thinking-turbo"],
    sources: [
      KIMI_THINKING_PAGE,
      "https://github.com/Lapis0x0/obsidian-yolo/pull/243",
    ],
    rules: {
      ...KIMI,
      canStop: false,
      onWord: undefined,
      forcedTools: "never",
      fixedSampling: false,
    },
  },
  {
    models: /^kimi-k2[.p][56]/,
    examples: ["kimi-k2.5", "kimi-k2.6", "kimi-k2p5"],
    sources: [
      KIMI_THINKING_PAGE,
      "https://github.com/MoonshotAI/kimi-agent-sdk/issues/169",
      "https://github.com/can1357/oh-my-pi/issues/1077",
      "https://github.com/Warma10032/VideoAdGuard/issues/34",
    ],
    rules: KIMI,
  },
  {
    models: /^kimi-k2[.p][7-9]/,
    examples: ["kimi-k2.7-code", "kimi-k2.7-code-highspeed"],
    sources: [
      KIMI_THINKING_PAGE,
      "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152",
    ],
    rules: { ...KIMI, canStop: false, forcedTools: "never" },
  },
  {
    models: /^(?:kimi-)?k(?:[3-9]|\d\d)/,
    examples: ["kimi-k3", "k3-256k", "kimi-k3.1-pro", "kimi-k4"],
    sources: [
      KIMI_EFFORT_PAGE,
      "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152",
      "https://github.com/can1357/oh-my-pi/pull/5994",
    ],
    rules: {
      ...KIMI,
      canStop: false,
      onWord: undefined,
      efforts: ["low", "high", "max"],
      forcedTools: "any_tool",
    },
  },
  {
    // Aliases without a generation, which move from one generation to the next.
    models: /^/,
    examples: ["kimi-for-coding", "kimi-latest"],
    sources: [
      KIMI_THINKING_PAGE,
      "https://github.com/anomalyco/opencode/issues/10996",
    ],
    rules: KIMI,
  },
];

const DEEPSEEK: ThinkingRules = {
  byDefault: true,
  canStop: true,
  onWord: "enabled",
  efforts: ALL_EFFORTS,
  forcedTools: "without_thinking",
  forbidsTools: true,
  wantsReasoningOfCalls: true,
  fixedSampling: false,
};

const DEEPSEEK_THINKING_PAGE =
  "https://api-docs.deepseek.com/guides/thinking_mode";

export const DEEPSEEK_MODELS: Rows = [
  {
    models: /^deepseek-chat/,
    examples: ["deepseek-chat"],
    sources: ["https://api-docs.deepseek.com/quick_start/pricing"],
    rules: { ...DEEPSEEK, byDefault: false },
  },
  {
    models: /^deepseek-(?:v(?:[4-9]|\d\d)|flash|pro|reasoner)/,
    examples: ["deepseek-v4-pro", "deepseek-flash", "deepseek-reasoner"],
    sources: [
      DEEPSEEK_THINKING_PAGE,
      "https://github.com/deepseek-ai/DeepSeek-V3/issues/1376",
    ],
    rules: DEEPSEEK,
  },
  {
    models: /^/,
    examples: ["deepseek-next"],
    sources: [DEEPSEEK_THINKING_PAGE],
    rules: DEEPSEEK,
  },
];

const GLM: ThinkingRules = {
  byDefault: true,
  canStop: true,
  onWord: "enabled",
  efforts: [],
  forcedTools: "never",
  forbidsTools: false,
  wantsReasoningOfCalls: false,
  fixedSampling: false,
};

const GLM_THINKING_PAGE = "https://docs.z.ai/guides/capabilities/thinking-mode";
/** A report of the error "Tool choice must be auto". */
const GLM_TOOLS_SOURCE =
  "https://github.com/vectorize-io/hindsight/issues/4246";

/** The models of Z.ai, on both hosts. */
export const GLM_MODELS: Rows = [
  {
    models: /^glm-(?:5\.(?:[3-9]|\d\d)|[6-9]|\d\d)/,
    examples: ["glm-5.3", "glm-5.3-flash", "glm-6"],
    sources: [
      "https://docs.z.ai/guides/capabilities/thinking",
      "https://github.com/NousResearch/hermes-agent/issues/85890",
      GLM_TOOLS_SOURCE,
    ],
    rules: { ...GLM, canStop: false, efforts: ["low", "high", "max"] },
  },
  {
    models: /^glm-5\.2/,
    examples: ["glm-5.2", "glm-5.2-fp8"],
    sources: [
      "https://docs.z.ai/guides/overview/migrate-to-glm-new",
      "https://github.com/can1357/oh-my-pi/issues/2833",
      GLM_TOOLS_SOURCE,
    ],
    rules: { ...GLM, efforts: ["low", "medium", "high", "xhigh", "max"] },
  },
  {
    models: /^/,
    examples: ["glm-5.1", "glm-5", "glm-4.7", "glm-4.5-air"],
    sources: [GLM_THINKING_PAGE, GLM_TOOLS_SOURCE],
    rules: GLM,
  },
];

const MINIMAX: ThinkingRules = {
  byDefault: true,
  canStop: true,
  onWord: "adaptive",
  efforts: [],
  forcedTools: "always",
  forbidsTools: true,
  wantsReasoningOfCalls: false,
  fixedSampling: false,
};

export const MINIMAX_MODELS: Rows = [
  {
    models: /^minimax-m2/,
    examples: ["MiniMax-M2", "MiniMax-M2.7-highspeed"],
    sources: ["https://java.agentscope.io/v2/en/integration/model/minimax"],
    rules: { ...MINIMAX, canStop: false, onWord: undefined },
  },
  {
    models: /^/,
    examples: ["MiniMax-M3", "MiniMax-M4"],
    sources: [
      "https://java.agentscope.io/v2/en/integration/model/minimax",
      "https://github.com/CherryHQ/cherry-studio/issues/16431",
    ],
    rules: MINIMAX,
  },
];

/** A model whose switch is `enable_thinking`, which a connection may set with `force`. */
const QWEN: ThinkingRules = {
  byDefault: true,
  canStop: false,
  onWord: undefined,
  efforts: [],
  forcedTools: "never",
  forbidsTools: true,
  wantsReasoningOfCalls: false,
  fixedSampling: false,
};

/** "tool_choice parameter does not support being set to required or object in thinking mode" */
const QWEN_TOOLS_SOURCE = "https://github.com/cloudwego/eino/issues/994";

/** The models of DashScope. */
export const QWEN_MODELS: Rows = [
  {
    models: /^qwen3\.(?:[89]|\d\d)-max/,
    examples: ["qwen3.8-max", "qwen3.8-max-preview"],
    sources: [
      "https://github.com/QwenLM/qwen-code/pull/8488",
      QWEN_TOOLS_SOURCE,
    ],
    rules: { ...QWEN, efforts: ["low", "medium", "high", "xhigh", "max"] },
  },
  {
    models: /^/,
    examples: ["qwen-plus", "qwen3.5-plus", "qwen3-coder-plus"],
    sources: [
      "https://www.alibabacloud.com/help/en/model-studio/deep-thinking",
      QWEN_TOOLS_SOURCE,
    ],
    rules: QWEN,
  },
];

/** The models that need the reasoning of their calls at every provider. */
const FAMILIES: readonly (readonly [ids: RegExp, rows: Rows])[] = [
  [/(?:^|\/)kimi-/i, KIMI_MODELS],
  [/(?:^|\/)deepseek-(?:v\d|flash|pro|reasoner)/i, DEEPSEEK_MODELS],
];

/**
 * Returns true for a Kimi or DeepSeek model, by its id, that needs the reasoning of its earlier calls. Hosts of open
 * models reject a history without it, as the models' own providers do
 * (https://github.com/agentscope-ai/QwenPaw/issues/433, https://github.com/danny-avila/LibreChat/issues/13366).
 */
export function wantsReasoningOfCalls(model: string): boolean {
  const rows = FAMILIES.find(([ids]) => ids.test(model))?.[1];
  if (rows === undefined) return false;
  const rules = rulesFor(rows, model);
  return rules !== undefined && rules.byDefault && rules.wantsReasoningOfCalls;
}

/**
 * Returns true for a model that begins its text with its reasoning in a tag, where the host does not separate it
 * (promptfoo/promptfoo#9587, deepseek-ai/DeepSeek-R1#342, RooCodeInc/Roo-Code#8989, sgl-project/sglang#22637).
 */
export const writesTags = (model: string): boolean =>
  /gpt-oss|deepseek[.-]?r1|r1-distill|qw(?:q|en-?3)|minimax-?m\d/i.test(model);
