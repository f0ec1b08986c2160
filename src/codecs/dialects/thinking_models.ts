import type { Effort } from "../canonical/request/request.ts";
import type { Target } from "../canonical/codec.ts";
import { ALL_EFFORTS, type EffortWord } from "../canonical/request/effort.ts";
import {
  bareId,
  type EffortRules,
  knownEfforts,
  type ModelRow,
  rulesFor,
  strictestEffort,
} from "./effort.ts";
import { GEMINI_MODELS, GPT_OSS_MODELS, XAI_MODELS } from "./effort_models.ts";
import { openAiModelRules } from "./openai_models.ts";

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
  /** True when the model, while thinking, rejects assistant messages that have tool calls but lack their reasoning. */
  readonly wantsReasoningOfCalls: boolean;
  /** True when sampling is fixed and other values are rejected. */
  readonly fixedSampling: boolean;
}

type Rows = readonly ModelRow<ThinkingRules>[];

/**
 * Joins rows to their strictest common rules, for an unknown model that may resemble any of them. Its thinking counts
 * as always on.
 */
export function strictestThinking(
  rows: readonly [ThinkingRules, ...ThinkingRules[]],
): ThinkingRules {
  const [{ forcedTools, onWord, efforts }] = rows;
  const isForced = forcedTools !== "without_thinking" &&
    rows.every((row) => row.forcedTools === forcedTools);
  return {
    byDefault: true,
    canStop: false,
    onWord: rows.every((row) => row.onWord === onWord) ? onWord : undefined,
    efforts: efforts.filter((word) =>
      rows.every((row) => row.efforts.includes(word))
    ),
    forcedTools: isForced ? forcedTools : "never",
    forbidsTools: rows.every((row) => row.forbidsTools),
    wantsReasoningOfCalls: rows.some((row) => row.wantsReasoningOfCalls),
    fixedSampling: rows.some((row) => row.fixedSampling),
  };
}

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

/** The models of Moonshot. */
export const KIMI_MODELS: Rows = [
  {
    models: /^(?:kimi-k2(?![.\dp]|-thinking)|moonshot-v1)/,
    examples: ["kimi-k2-0905-preview", "kimi-k2-turbo-preview", "moonshot-v1"],
    sources: ["https://platform.kimi.ai/docs/api/models-overview"],
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
    models: /^kimi-k3/,
    examples: ["kimi-k3", "k3-256k", "kimi-k3.1-pro"],
    sources: [
      "https://platform.kimi.ai/docs/guide/use-reasoning-effort",
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

export const DEEPSEEK_MODELS: Rows = [
  {
    models: /^deepseek-chat/,
    examples: ["deepseek-chat"],
    sources: ["https://api-docs.deepseek.com/quick_start/pricing"],
    rules: { ...DEEPSEEK, byDefault: false },
  },
  {
    models: /^deepseek-(?:v4(?!\.|\d|p\d)|flash|pro|reasoner)/,
    examples: ["deepseek-v4-pro", "deepseek-flash", "deepseek-reasoner"],
    sources: [
      "https://api-docs.deepseek.com/guides/thinking_mode",
      "https://github.com/deepseek-ai/DeepSeek-V3/issues/1376",
    ],
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

/** A report of the error "Tool choice must be auto". */
const GLM_TOOLS_SOURCE =
  "https://github.com/vectorize-io/hindsight/issues/4246";

/** The models of Z.ai, at the hosts of Z.ai and BigModel. */
export const GLM_MODELS: Rows = [
  {
    models: /^glm-5\.3/,
    examples: ["glm-5.3", "glm-5.3-flash"],
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
    models: /^glm-(?:4|5(?![.\dp]|-\d)|5\.1)/,
    examples: ["glm-5.1", "glm-5", "glm-4.7", "glm-4.5-air"],
    sources: [
      "https://docs.z.ai/guides/capabilities/thinking-mode",
      GLM_TOOLS_SOURCE,
    ],
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
    models: /^minimax-m3(?![.\d])/,
    examples: ["MiniMax-M3"],
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

/** The makers whose models behave alike at every host. */
const FAMILIES: readonly (readonly [ids: RegExp, rows: Rows])[] = [
  [/^kimi-/, KIMI_MODELS],
  [/^deepseek[-.](?:v\d|flash|pro|reasoner)/, DEEPSEEK_MODELS],
];

/**
 * Returns the rules of a Kimi or DeepSeek model, by its id, that hold at every host of open models; else `undefined`.
 * The hosts reject a history without the reasoning of its calls, as the models' own providers do
 * (https://github.com/agentscope-ai/QwenPaw/issues/433, https://github.com/danny-avila/LibreChat/issues/13366). For
 * Kimi K3, these hosts accept the same efforts as Moonshot (https://docs.together.ai/docs/kimi-k3-quickstart).
 */
export function openRules(model: string): ThinkingRules | undefined {
  const id = bareId(model);
  const rows = FAMILIES.find(([ids]) => ids.test(id))?.[1];
  return rows && rulesFor(rows, id, strictestThinking);
}

/** The makers of models with an effort, and the makers of models with a switch. */
const EFFORT_MAKERS = [
  [/^gemini-/, GEMINI_MODELS],
  [/^grok-/, XAI_MODELS],
  [/^gpt-oss/, GPT_OSS_MODELS],
] as const;
const SWITCH_MAKERS = [
  ...FAMILIES,
  [/^glm-/, GLM_MODELS],
  [/^minimax-/, MINIMAX_MODELS],
] as const;

/**
 * Returns the efforts, from low to high, of a model that always reasons at its maker; `undefined` for other models. If
 * a request stops the reasoning of such a model, a router answers: "Reasoning is mandatory for this endpoint and cannot
 * be disabled".
 */
export function mandatoryEfforts(
  target: Pick<Target, "service" | "model">,
): readonly EffortWord[] | undefined {
  const id = bareId(target.model);
  const [, makers = []] = EFFORT_MAKERS.find(([ids]) => ids.test(id)) ?? [];
  const rules = rulesFor<EffortRules>(makers, id, strictestEffort);
  const efforts = openAiModelRules(target)?.efforts ??
    (rules && knownEfforts(rules));
  if (efforts?.[0] !== undefined) {
    return efforts.includes("none") ? undefined : efforts;
  }
  const [, rows = []] = SWITCH_MAKERS.find(([ids]) => ids.test(id)) ?? [];
  const thinking = rulesFor(rows, id, strictestThinking);
  return thinking?.byDefault && !thinking.canStop
    ? thinking.efforts
    : undefined;
}

/**
 * Returns true for a model whose text begins with reasoning in a tag, unless the host separates the reasoning
 * (promptfoo/promptfoo#9587, deepseek-ai/DeepSeek-R1#342, RooCodeInc/Roo-Code#8989, sgl-project/sglang#22637).
 */
export const writesTags = (model: string): boolean =>
  /gpt-oss|deepseek[.-]?r1|r1-distill|qw(?:q|en-?3)|minimax-?m\d/i.test(model);
