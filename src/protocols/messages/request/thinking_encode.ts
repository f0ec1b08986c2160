import type { JsonObject } from "../../../core/json.ts";
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

/** How a request's thinking is written. */
export interface Thinking {
  readonly config?: JsonObject | undefined;
  readonly effort?: Effort | undefined;
  /** The limit that leaves room for an answer beside the budget. */
  readonly maxTokens: number;
}

/** What thinking depends on beside the caller's settings. */
export interface ThinkingOptions {
  readonly settings: ReasoningSettings | undefined;
  readonly maxTokens: number;
  /** Whether the model must call a tool. */
  readonly isForced: boolean;
  /** Whether the history has a tool loop that goes on without the thinking which began it. */
  readonly isLoopBare: boolean;
}

type Mode = NonNullable<ReasoningSettings["mode"]>;

/** Used where a caller asks for thinking and says nothing of how much. */
const DEFAULT_EFFORT: Effort = "medium";

/** Writes whether and how much to think, as the model takes it. */
export function encodeThinking(
  options: ThinkingOptions,
  scope: Scope,
): Thinking {
  const { settings, maxTokens } = options;
  const mode = settings === undefined
    ? undefined
    : modeFor(settings, scope.dialect);
  if (settings === undefined || mode === undefined) return { maxTokens };
  const whyNot = mode === "off"
    ? undefined
    : whyNoThinking(mode, options, scope);
  if (whyNot !== undefined) reportDropped(whyNot, scope);
  const made = whyNot === undefined ? mode : "off";
  switch (made) {
    case "off":
      return { ...encodeOff(settings, scope), maxTokens };
    case "budget":
      return encodeBudget(options, settings, scope);
    default:
      if (settings.mode === "budget") {
        reportDropped(
          "this model takes no budget: it thinks as it sees fit",
          scope,
        );
      }
      return {
        config: { type: made, ...display(settings, made) },
        effort: effortFor(settings, scope),
        maxTokens,
      };
  }
}

/** Whether thinking of this config leaves the model free to be forced and to be drawn otherwise. */
export function isThinking(config: JsonObject | undefined): boolean {
  return config !== undefined && config.type !== "disabled";
}

/** The mode that the model knows and that comes closest; `undefined` to say nothing. */
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

/** Why the model cannot think in this request. */
function whyNoThinking(
  mode: Mode,
  { isForced, isLoopBare }: ThinkingOptions,
  { dialect }: Scope,
): string | undefined {
  if (dialect.thinking === "none") return "this model does not think";
  if (isForced && dialect.forcedTools === "without_thinking") {
    return "this model does not think where it must call a tool";
  }
  if (isLoopBare && mode === "budget" && dialect.thinking !== "as_given") {
    return "this model goes on thinking in a tool loop only with its earlier thoughts";
  }
  return undefined;
}

/** No thinking, or as little as the model can. */
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

/** A budget, under a limit that is raised where it would leave no room for an answer. */
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
    reportDropped("the limit of the answer leaves no room for it", scope);
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
 * What the caller gets to read. Thinking that nobody asked for by mode, only by effort, is shown: newer models
 * keep it to themselves otherwise.
 */
function display({ mode, summary }: ReasoningSettings, made: Mode): JsonObject {
  if (made === "between_tools") return {};
  const word = summary ?? (mode === undefined ? "auto" : undefined);
  if (word === undefined) return {};
  return { display: word === "none" ? "omitted" : "summarized" };
}

/** The effort that the model knows and that comes closest; `undefined` where none was asked for. */
function effortFor(
  { effort }: ReasoningSettings,
  scope: Scope,
): Effort | undefined {
  const { efforts } = scope.dialect;
  if (effort === undefined || efforts.length === 0) return undefined;
  if (efforts.includes(effort)) return effort;
  if (effort === "minimal") return "low";
  reportDropped("this model knows no such effort", scope);
  return effort === "xhigh" ? "high" : efforts.at(-1);
}

function reportDropped(reason: string, { context }: Scope): void {
  context.reportDropped({ field: "reasoning", weight: "report", reason });
}
