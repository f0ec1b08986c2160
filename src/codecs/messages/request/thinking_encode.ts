import type { JsonObject } from "@gateway/base/json";
import {
  budgetOfEffort,
  MIN_BUDGET_TOKENS,
} from "../../canonical/answer/reasoning.ts";
import type {
  Effort,
  ReasoningSettings,
} from "../../canonical/request/request.ts";
import type { MessagesRules } from "../../dialects/claude_models.ts";
import type { Scope } from "../dialect.ts";

/** The encoded thinking settings of a request. */
export interface Thinking {
  readonly config?: JsonObject | undefined;
  readonly effort?: Effort | undefined;
  /** The limit of output tokens, which leaves room for an answer beside the budget. */
  readonly maxTokens: number;
}

interface ThinkingOptions {
  readonly settings: ReasoningSettings | undefined;
  readonly maxTokens: number;
  /** True when the model must call a tool. */
  readonly isForced: boolean;
  /** True when the history ends in a tool loop without the thinking that began it. */
  readonly lacksLoopThinking: boolean;
}

type Mode = NonNullable<ReasoningSettings["mode"]>;

/** The effort of a request that asks for thinking without an amount. */
const DEFAULT_EFFORT: Effort = "medium";

/** Encodes the mode and amount of thinking for the model. */
export function encodeThinking(
  options: ThinkingOptions,
  scope: Scope,
): Thinking {
  const { settings, maxTokens } = options;
  const mode = settings === undefined
    ? undefined
    : modeFor(settings, scope.dialect);
  if (settings === undefined || mode === undefined) return { maxTokens };
  const obstacle = mode === "off"
    ? undefined
    : obstacleToThinking(mode, options, scope);
  if (obstacle !== undefined) reportDropped(obstacle, scope);
  const chosen = obstacle === undefined ? mode : "off";
  switch (chosen) {
    case "off":
      return { ...encodeOff(settings, scope), maxTokens };
    case "budget":
      return encodeBudget(options, settings, scope);
    default:
      if (settings.mode === "budget") {
        reportDropped(
          "this model accepts no thinking budget; it thinks adaptively",
          scope,
        );
      }
      return {
        config: { type: chosen, ...display(settings, chosen) },
        effort: effortFor(settings, scope),
        maxTokens,
      };
  }
}

/** Returns true when this config makes the model think, which limits forced tools and sampling. */
export function isThinking(config: JsonObject | undefined): boolean {
  return config !== undefined && config.type !== "disabled";
}

/** Returns the closest mode that the model supports, or `undefined` when the request sets none. */
function modeFor(
  { mode, effort }: ReasoningSettings,
  dialect: MessagesRules,
): Mode | undefined {
  if (mode === undefined && effort === undefined) return undefined;
  if (mode === "off") return "off";
  switch (dialect.thinking) {
    case "none":
    case "budget":
      return "budget";
    case "as_given":
      return mode ?? "budget";
    case "either":
      return mode === "budget" ? "budget" : "adaptive";
    case "adaptive":
      return mode === "between_tools" && dialect.thinkingOff === mode
        ? mode
        : "adaptive";
  }
}

/** Returns the reason why the model cannot think in this request, or `undefined` when it can. */
function obstacleToThinking(
  mode: Mode,
  { isForced, lacksLoopThinking }: ThinkingOptions,
  { dialect }: Scope,
): string | undefined {
  if (dialect.thinking === "none") return "this model does not think";
  if (isForced && dialect.forcedTools === "without_thinking") {
    return "this model does not think when it must call a tool";
  }
  if (
    lacksLoopThinking && mode === "budget" && dialect.thinking !== "as_given"
  ) {
    return "this model continues thinking in a tool loop only with its earlier thinking";
  }
  return undefined;
}

/** Switches thinking off, or to the lowest effort of the model. */
function encodeOff(
  settings: ReasoningSettings,
  scope: Scope,
): Omit<Thinking, "maxTokens"> {
  const { thinking, thinkingOff, efforts } = scope.dialect;
  if (thinking === "none") return {};
  if (thinkingOff === undefined) {
    reportDropped("this model always thinks", scope);
    return { effort: efforts[0] };
  }
  const wanted = effortFor(settings, scope);
  return {
    config: { type: thinkingOff },
    effort: wanted === "xhigh" || wanted === "max" ? "high" : wanted,
  };
}

/** Encodes a budget. A limit that leaves no room for an answer is raised. */
function encodeBudget(
  { maxTokens }: ThinkingOptions,
  settings: ReasoningSettings,
  scope: Scope,
): Thinking {
  const wanted = settings.budgetTokens ??
    budgetOfEffort(settings.effort ?? DEFAULT_EFFORT, maxTokens);
  const budget = Math.max(MIN_BUDGET_TOKENS, Math.floor(wanted));
  const raised = budget < maxTokens ? maxTokens : Math.min(
    maxTokens + budget,
    scope.dialect.maxOutputTokens ?? Infinity,
    scope.context.target.maxOutputTokens ?? Infinity,
  );
  const fitting = Math.min(budget, raised - 1);
  if (fitting < MIN_BUDGET_TOKENS) {
    reportDropped("the limit of the answer leaves no room for thinking", scope);
    return { ...encodeOff({}, scope), maxTokens };
  }
  const isEffortGiven = settings.mode !== undefined;
  return {
    config: {
      type: "enabled",
      budget_tokens: fitting,
      ...display(settings, "budget"),
    },
    effort: isEffortGiven ? effortFor(settings, scope) : undefined,
    maxTokens: raised,
  };
}

/**
 * Returns the field that shows or hides thinking. Thinking is shown when the request sets only an effort, since newer
 * models hide it by default.
 */
function display(
  { mode, summary }: ReasoningSettings,
  chosen: Mode,
): JsonObject {
  if (chosen === "between_tools") return {};
  const word = summary ?? (mode === undefined ? "auto" : undefined);
  if (word === undefined) return {};
  return { display: word === "none" ? "omitted" : "summarized" };
}

/** Returns the closest effort that the model supports, or `undefined` when the request sets none. */
function effortFor(
  { effort }: ReasoningSettings,
  scope: Scope,
): Effort | undefined {
  const { efforts } = scope.dialect;
  if (effort === undefined || efforts.length === 0) return undefined;
  if (efforts.includes(effort)) return effort;
  reportDropped("this model does not support this effort", scope);
  if (effort === "minimal") return "low";
  return effort === "xhigh" ? "high" : efforts.at(-1);
}

function reportDropped(reason: string, { context }: Scope): void {
  context.reportDropped("reasoning", reason);
}
