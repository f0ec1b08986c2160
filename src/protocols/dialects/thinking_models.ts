import type { Effort } from "../canonical/request/request.ts";
import { ALL_EFFORTS, type ModelRow, rulesFor } from "./effort.ts";

/** How a model with a switch for thinking behaves behind the Chat Completions of its own provider. */
export interface ThinkingRules {
  /** Whether it thinks where a request says nothing. */
  readonly byDefault: boolean;
  /** Whether it can be told not to think. */
  readonly canStop: boolean;
  /** The `thinking.type` that switches it on; `undefined` where it takes no `thinking`. */
  readonly onWord: "enabled" | "adaptive" | undefined;
  /** The values of `reasoning_effort` that it takes; empty where it takes none. */
  readonly efforts: readonly Effort[];
  /**
   * When a tool may be forced on it: `always`; `without_thinking`; `any_tool` (it must call one, but none can be
   * named); `never`.
   */
  readonly forcedTools: "always" | "without_thinking" | "any_tool" | "never";
  /** Whether `tool_choice: "none"` is taken; else only leaving the tools out does it. */
  readonly forbidsTools: boolean;
  /** Whether assistant messages with tool calls are refused without their reasoning while it thinks. */
  readonly wantsReasoningOfCalls: boolean;
  /** Whether sampling is fixed: any value but its own is refused. */
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
    // Names that say no generation, and are moved from one to the next.
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

/** The models of DeepSeek. */
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
/** "Tool choice must be auto". */
const GLM_TOOLS_SOURCE =
  "https://github.com/vectorize-io/hindsight/issues/4246";

/** The models of Z.ai, on both of its hosts. */
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

/** The models of MiniMax. */
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

/** The models whose provider refuses calls without their reasoning, wherever they are served. */
const FAMILIES: readonly (readonly [ids: RegExp, rows: Rows])[] = [
  [/(?:^|\/)kimi-/i, KIMI_MODELS],
  [/(?:^|\/)deepseek-(?:v\d|flash|pro|reasoner)/i, DEEPSEEK_MODELS],
];

/**
 * Whether a model that its name shows to be Kimi or DeepSeek wants the reasoning of its earlier calls back: hosts of
 * open models refuse the history without it as their makers do
 * (https://github.com/agentscope-ai/QwenPaw/issues/433, https://github.com/danny-avila/LibreChat/issues/13366).
 */
export function wantsReasoningOfCalls(model: string): boolean {
  const rows = FAMILIES.find(([ids]) => ids.test(model))?.[1];
  if (rows === undefined) return false;
  const rules = rulesFor(rows, model);
  return rules !== undefined && rules.byDefault && rules.wantsReasoningOfCalls;
}
