import type { Effort } from "../canonical/request/request.ts";
import type { Target } from "../canonical/codec.ts";
import { ALL_EFFORTS, type EffortWord } from "../canonical/request/effort.ts";
import type {
  AbilityRow,
  ReasoningAbility,
} from "../canonical/request/ability.ts";
import { type ChatRow, strictestEffort } from "./chat_rules.ts";
import { bareId, type ModelRow, rulesFor } from "./model_rows.ts";
import { GEMINI_MODELS, GPT_OSS_MODELS, XAI_MODELS } from "./effort_models.ts";
import { openAiModelRules } from "./openai_models.ts";

type Rows = readonly ModelRow<ChatRow>[];

/**
 * Returns the row of a model that thinks by default.
 *
 * @param modes The modes that a request may set: `adaptive` if thinking can be turned on, `off` if it can be turned
 * off.
 * @param efforts The values of `reasoning_effort` that the model accepts, from low to high.
 * @param rest The other parts of the model's ability.
 */
function thinker(
  modes: ReasoningAbility["modes"],
  efforts: readonly Effort[],
  { reasoning, ...rest }: AbilityRow,
): ChatRow {
  const least = efforts[0];
  return {
    ability: {
      reasoning: { byDefault: true, modes, efforts, least, ...reasoning },
      ...rest,
    },
  };
}

/** The restriction of a model that cannot think when a request forces a tool call. */
const NOT_FORCED = { bars: ["forced_call"] } as const;

/**
 * Joins rows to their strictest common row, for an unknown model that may resemble any of them. The joined row says
 * that the model always thinks.
 */
export function strictestThinking(
  rows: readonly [ChatRow, ...ChatRow[]],
): ChatRow {
  const all = rows.map(({ ability = {} }) => ability);
  const forces = new Set(
    all.map(({ reasoning, tools }) =>
      reasoning?.bars?.includes("forced_call") ? "never" : tools?.force
    ),
  );
  const [first] = all;
  const common = first?.reasoning?.efforts?.filter((word) =>
    all.every(({ reasoning }) => reasoning?.efforts?.includes(word))
  );
  const canStart = all.every(({ reasoning }) =>
    reasoning?.modes?.includes("adaptive")
  );
  return {
    ability: {
      reasoning: {
        byDefault: true,
        modes: canStart ? ["adaptive"] : [],
        efforts: common,
        least: common?.[0],
      },
      tools: {
        ...(forces.size > 1
          ? { force: "never" }
          : first?.reasoning?.bars !== undefined
          ? { force: "never" }
          : first?.tools),
        forbid: all.every(({ tools }) => tools?.forbid !== false),
      },
      sampling: all.find(({ sampling }) => sampling !== undefined)?.sampling,
      turns: {
        reasoningOfCalls: all.some(({ turns }) =>
          turns?.reasoningOfCalls === true
        ),
      },
    },
  };
}

const LOW_TO_MAX = ["low", "medium", "high", "xhigh", "max"] as const;
const NEVER = { force: "never" } as const;
const FIXED = { free: "never" } as const;
const WITH_REASONING = { reasoningOfCalls: true } as const;

/**
 * What the rows of Moonshot's thinking models have in common. The rows differ in whether a request may force a call.
 */
const KIMI: AbilityRow = { sampling: FIXED, turns: WITH_REASONING };

const KIMI_THINKING_PAGE =
  "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model";

/** The models of Moonshot. */
export const KIMI_MODELS: Rows = [
  {
    models: /^(?:kimi-k2(?![.\dp]|-thinking)|moonshot-v1)/,
    examples: ["kimi-k2-0905-preview", "kimi-k2-turbo-preview", "moonshot-v1"],
    sources: ["https://platform.kimi.ai/docs/api/models-overview"],
    rules: thinker([], [], { reasoning: { byDefault: false } }),
  },
  {
    models: /^kimi-k2-thinking/,
    examples: ["kimi-k2-thinking", "kimi-k2-thinking-turbo"],
    sources: [
      KIMI_THINKING_PAGE,
      "https://github.com/Lapis0x0/obsidian-yolo/pull/243",
    ],
    rules: thinker([], [], { tools: NEVER, turns: WITH_REASONING }),
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
    rules: thinker(["adaptive", "off"], [], { reasoning: NOT_FORCED, ...KIMI }),
  },
  {
    models: /^kimi-k2[.p][7-9]/,
    examples: ["kimi-k2.7-code", "kimi-k2.7-code-highspeed"],
    sources: [
      KIMI_THINKING_PAGE,
      "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152",
    ],
    rules: thinker(["adaptive"], [], { tools: NEVER, ...KIMI }),
  },
  {
    models: /^kimi-k3/,
    examples: ["kimi-k3", "k3-256k", "kimi-k3.1-pro"],
    sources: [
      "https://platform.kimi.ai/docs/guide/use-reasoning-effort",
      "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152",
      "https://github.com/can1357/oh-my-pi/pull/5994",
    ],
    rules: thinker([], ["low", "high", "max"], {
      tools: { force: "any" },
      ...KIMI,
    }),
  },
];

const DEEPSEEK: AbilityRow = { reasoning: NOT_FORCED, turns: WITH_REASONING };

export const DEEPSEEK_MODELS: Rows = [
  {
    models: /^deepseek-chat/,
    examples: ["deepseek-chat"],
    sources: ["https://api-docs.deepseek.com/quick_start/pricing"],
    rules: thinker(["adaptive", "off"], ALL_EFFORTS, {
      ...DEEPSEEK,
      reasoning: { ...NOT_FORCED, byDefault: false },
    }),
  },
  {
    models: /^deepseek-(?:v4(?!\.|\d|p\d)|flash|pro|reasoner)/,
    examples: ["deepseek-v4-pro", "deepseek-flash", "deepseek-reasoner"],
    sources: [
      "https://api-docs.deepseek.com/guides/thinking_mode",
      "https://github.com/deepseek-ai/DeepSeek-V3/issues/1376",
    ],
    rules: thinker(["adaptive", "off"], ALL_EFFORTS, DEEPSEEK),
  },
];

const GLM: AbilityRow = { tools: { force: "never", forbid: false } };

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
    rules: thinker(["adaptive"], ["low", "high", "max"], GLM),
  },
  {
    models: /^glm-5\.2/,
    examples: ["glm-5.2", "glm-5.2-fp8"],
    sources: [
      "https://docs.z.ai/guides/overview/migrate-to-glm-new",
      "https://github.com/can1357/oh-my-pi/issues/2833",
      GLM_TOOLS_SOURCE,
    ],
    rules: thinker(["adaptive", "off"], LOW_TO_MAX, GLM),
  },
  {
    models: /^glm-(?:4|5(?![.\dp]|-\d)|5\.1)/,
    examples: ["glm-5.1", "glm-5", "glm-4.7", "glm-4.5-air"],
    sources: [
      "https://docs.z.ai/guides/capabilities/thinking-mode",
      GLM_TOOLS_SOURCE,
    ],
    rules: thinker(["adaptive", "off"], [], GLM),
  },
];

export const MINIMAX_MODELS: Rows = [
  {
    models: /^minimax-m2/,
    examples: ["MiniMax-M2", "MiniMax-M2.7-highspeed"],
    sources: ["https://java.agentscope.io/v2/en/integration/model/minimax"],
    rules: thinker([], [], {}),
  },
  {
    models: /^minimax-m3(?![.\d])/,
    examples: ["MiniMax-M3"],
    sources: [
      "https://java.agentscope.io/v2/en/integration/model/minimax",
      "https://github.com/CherryHQ/cherry-studio/issues/16431",
    ],
    rules: thinker(["adaptive", "off"], [], {}),
  },
];

/** "tool_choice parameter does not support being set to required or object in thinking mode" */
const QWEN_TOOLS_SOURCE = "https://github.com/cloudwego/eino/issues/994";

/**
 * The models of DashScope. Their switch for thinking is `enable_thinking`, which a connection may set with `force`.
 */
export const QWEN_MODELS: Rows = [
  {
    models: /^qwen3\.(?:[89]|\d\d)-max/,
    examples: ["qwen3.8-max", "qwen3.8-max-preview"],
    sources: [
      "https://github.com/QwenLM/qwen-code/pull/8488",
      QWEN_TOOLS_SOURCE,
    ],
    rules: thinker([], LOW_TO_MAX, { tools: NEVER }),
  },
  {
    models: /^/,
    examples: ["qwen-plus", "qwen3.5-plus", "qwen3-coder-plus"],
    sources: [
      "https://www.alibabacloud.com/help/en/model-studio/deep-thinking",
      QWEN_TOOLS_SOURCE,
    ],
    rules: thinker([], [], { tools: NEVER }),
  },
];

/** The makers whose models behave in the same way at every host. */
const FAMILIES: readonly (readonly [ids: RegExp, rows: Rows])[] = [
  [/^kimi-/, KIMI_MODELS],
  [/^deepseek[-.](?:v\d|flash|pro|reasoner)/, DEEPSEEK_MODELS],
];

/**
 * Returns the rules of a Kimi or DeepSeek model that hold at every host of open models. Returns `undefined` for other
 * ids. The hosts reject a history without the reasoning of its calls, as the models' own providers do
 * (https://github.com/agentscope-ai/QwenPaw/issues/433, https://github.com/danny-avila/LibreChat/issues/13366). For
 * Kimi K3, these hosts accept the same efforts as Moonshot (https://docs.together.ai/docs/kimi-k3-quickstart).
 */
export function openRules(model: string): ChatRow | undefined {
  const id = bareId(model);
  const rows = FAMILIES.find(([ids]) => ids.test(id))?.[1];
  return rows && rulesFor(rows, id, strictestThinking);
}

/** The makers whose models have an effort, and below the makers whose models have a switch. */
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

/** Returns the reasoning settings that OpenRouter accepts for a model. OpenRouter itself fits the effort to the model. */
export function routerAbility(
  target: Pick<Target, "service" | "model">,
): ReasoningAbility {
  const mandatory = mandatoryEfforts(target);
  return {
    byDefault: mandatory === undefined ? undefined : true,
    modes: [
      "adaptive",
      "budget",
      ...(mandatory === undefined ? ["off" as const] : []),
    ],
    efforts: ALL_EFFORTS,
    least: mandatory?.[0],
  };
}

/**
 * Returns the efforts, from low to high, of a model that always reasons at its maker. Returns `undefined` for other
 * models. If a request turns the reasoning of such a model off, a router answers: "Reasoning is mandatory for this
 * endpoint and cannot be disabled".
 */
function mandatoryEfforts(
  target: Pick<Target, "service" | "model">,
): readonly EffortWord[] | undefined {
  const id = bareId(target.model);
  const [, makers = []] = EFFORT_MAKERS.find(([ids]) => ids.test(id)) ?? [];
  const row = rulesFor<ChatRow>(makers, id, strictestEffort);
  const efforts = openAiModelRules(target)?.efforts ??
    row?.ability?.reasoning?.efforts;
  if (efforts?.[0] !== undefined) {
    return efforts.includes("none") ? undefined : efforts;
  }
  const [, rows = []] = SWITCH_MAKERS.find(([ids]) => ids.test(id)) ?? [];
  const thinking = rulesFor(rows, id, strictestThinking)?.ability?.reasoning;
  return thinking?.byDefault && !thinking.modes?.includes("off")
    ? thinking.efforts
    : undefined;
}

/**
 * Returns true for a model whose text begins with reasoning in a tag, if the host does not separate the reasoning from
 * the text (promptfoo/promptfoo#9587, deepseek-ai/DeepSeek-R1#342, RooCodeInc/Roo-Code#8989, sgl-project/sglang#22637).
 */
export const writesTags = (model: string): boolean =>
  /gpt-oss|deepseek[.-]?r1|r1-distill|qw(?:q|en-?3)|minimax-?m\d/i.test(model);
