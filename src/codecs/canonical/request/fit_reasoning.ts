import type { ReasoningAbility, ReasoningMode } from "./ability.ts";
import {
  budgetOfEffort,
  closestEffort,
  effortOf,
  type EffortWord,
  MIN_BUDGET_TOKENS,
} from "./effort.ts";
import type { LossReport } from "./loss.ts";
import type { Effort, ReasoningSettings } from "./request.ts";

/** The facts of a request that decide whether a model can reason in it. */
interface ReasoningNeeds {
  readonly settings: ReasoningSettings | undefined;
  /** True when the model must call a tool. */
  readonly isForced: boolean;
  /** True when the request offers tools. */
  readonly hasTools: boolean;
  /** True when the history ends with the results of calls, without the reasoning before the calls; absent: false. */
  readonly lacksReasoning?: boolean | undefined;
  /** The output limits, in tokens, if a thinking budget must leave room for the answer; absent if it need not. */
  readonly limits?: OutputLimits | undefined;
}

/** The output limit of a request, and the highest limit that the model accepts, in tokens. */
interface OutputLimits {
  readonly requested: number;
  readonly highest: number;
}

/** The reasoning settings that a model accepts. */
export interface FittedReasoning {
  /** The mode to set; `undefined` to set none. */
  readonly mode?: ReasoningMode | undefined;
  readonly effort?: EffortWord | undefined;
  /** Set with the mode `budget`. */
  readonly budgetTokens?: number | undefined;
  /** The output limit that leaves room for the answer beside the budget; absent: the request keeps its limit. */
  readonly maxOutputTokens?: number | undefined;
  /** True when the model reasons in this request; `undefined` when that is unknown. */
  readonly isOn: boolean | undefined;
}

/** The effort of a request that asks for reasoning without an amount. */
const DEFAULT_EFFORT: Effort = "medium";

/**
 * Fits the reasoning settings of a request to a model. The closest settings replace those that the model does not take.
 *
 * @throws {GatewayError} As {@linkcode LossReport.reportDropped} does.
 */
export function fitReasoning(
  needs: ReasoningNeeds,
  ability: ReasoningAbility,
  losses: LossReport,
): FittedReasoning {
  const { settings } = needs;
  const wanted = wantedIn(settings);
  if (wanted === false) return stopped(settings, ability, losses);
  const mode = wanted ? modeFor(settings?.mode, ability) : undefined;
  const obstacle = wanted ?? ability.byDefault
    ? obstacleFor(mode, needs, ability)
    : undefined;
  if (obstacle !== undefined) {
    // Every request of an agent has tools. So the obstacle is reported only if the caller asked for reasoning, or
    // forces a call.
    if (wanted || obstacle === FORCED_CALL) reportDropped(obstacle, losses);
    return canStop(ability)
      ? stopped(settings, ability, losses)
      : { isOn: ability.byDefault };
  }
  if (settings === undefined || !wanted) return { isOn: ability.byDefault };
  return mode === "budget"
    ? fitBudget(settings, needs, { ability, losses })
    : started(settings, mode, { ability, losses });
}

/** Returns true when the caller wants reasoning, or `undefined` when the request leaves that to the model. */
function wantedIn(
  settings: ReasoningSettings | undefined,
): boolean | undefined {
  if (settings?.mode !== undefined) return settings.mode !== "off";
  return settings?.effort === undefined ? undefined : true;
}

function canStop({ modes, efforts }: ReasoningAbility): boolean {
  return modes.includes("off") || modes.includes("between_tools") ||
    efforts === undefined || efforts.includes("none");
}

function canReason({ byDefault, modes, efforts }: ReasoningAbility): boolean {
  return byDefault === true || modes.some((mode) => mode !== "off") ||
    efforts === undefined || efforts.some((word) => word !== "none");
}

/** Returns `mode` if the model has it, else the model's first mode that reasons; `undefined` without such a mode. */
function modeFor(
  mode: ReasoningMode | undefined,
  { modes }: ReasoningAbility,
): ReasoningMode | undefined {
  return mode !== undefined && modes.includes(mode)
    ? mode
    : modes.find((one) => one === "adaptive" || one === "budget");
}

const FORCED_CALL = "this model does not reason when it must call a tool";

/** Returns the reason why the model cannot reason in this request, or `undefined` when it can. */
function obstacleFor(
  mode: ReasoningMode | undefined,
  { isForced, hasTools, lacksReasoning }: ReasoningNeeds,
  { bars = [] }: ReasoningAbility,
): string | undefined {
  if (isForced && bars.includes("forced_call")) {
    return FORCED_CALL;
  }
  if (hasTools && bars.includes("tools")) {
    return "this model accepts no tools while it reasons, except in the Responses protocol";
  }
  if (
    lacksReasoning && mode === "budget" && bars.includes("lost_reasoning")
  ) {
    return "this model continues reasoning in a tool loop only with its earlier reasoning";
  }
  return undefined;
}

interface Fit {
  readonly ability: ReasoningAbility;
  readonly losses: LossReport;
}

/** Returns settings that stop the reasoning of a model, or the lowest effort if no setting stops the reasoning. */
function stopped(
  settings: ReasoningSettings | undefined,
  ability: ReasoningAbility,
  losses: LossReport,
): FittedReasoning {
  const { modes, efforts, byDefault } = ability;
  if (!canReason(ability) && modes.length === 0) return { isOn: byDefault };
  const mode = (["off", "between_tools"] as const)
    .find((one) => modes.includes(one));
  if (mode !== undefined) {
    const effort = ability.effortWhenOff
      ? fitEffort(settings?.effort, { ability, losses })
      : undefined;
    return {
      mode,
      effort: effort === "xhigh" || effort === "max" ? "high" : effort,
      isOn: false,
    };
  }
  if (efforts === undefined || efforts.includes("none")) {
    return { effort: "none", isOn: false };
  }
  reportDropped(
    byDefault === undefined
      ? "this model's provider may not allow reasoning to be switched off"
      : "this model always reasons",
    losses,
  );
  return { effort: ability.least, isOn: byDefault };
}

/** Returns settings with a mode and an effort. A budget that the model does not take becomes an effort. */
function started(
  settings: ReasoningSettings,
  mode: ReasoningMode | undefined,
  fit: Fit,
): FittedReasoning {
  const { byDefault, efforts } = fit.ability;
  const asked = effortOf(settings);
  if (asked !== undefined || mode !== undefined) {
    const effort = fitEffort(asked, fit);
    const isSet = effort !== undefined || mode !== undefined;
    return { mode, effort, isOn: isSet || byDefault };
  }
  if (efforts?.length === 0 && byDefault !== true) {
    reportDropped(unchangeable(fit.ability), fit.losses);
    return { isOn: byDefault };
  }
  if (fit.ability.usual !== undefined) {
    return { effort: fit.ability.usual, isOn: true };
  }
  return byDefault === false || efforts === undefined
    ? { effort: fitEffort(DEFAULT_EFFORT, fit), isOn: true }
    : { isOn: byDefault };
}

/** Returns the accepted effort that is closest to `asked`; `undefined` when the model accepts no close effort. */
function fitEffort(
  asked: Effort | undefined,
  { ability, losses }: Fit,
): Effort | undefined {
  const { efforts } = ability;
  if (asked === undefined || efforts === undefined) return asked;
  const closest = closestEffort(asked, efforts);
  if (closest !== asked) {
    reportDropped(
      closest === undefined
        ? unchangeable(ability)
        : "this model does not support this effort",
      losses,
    );
  }
  return closest;
}

function unchangeable(ability: ReasoningAbility): string {
  if (ability.byDefault === false && !canReason(ability)) {
    return "this model does not reason";
  }
  return ability.modes.length > 0
    ? "this model's reasoning can only be switched on or off"
    : "this model's reasoning cannot be changed";
}

/** Returns settings with a budget. If the budget leaves no room for the answer, the output limit is raised. */
function fitBudget(
  settings: ReasoningSettings,
  { limits }: ReasoningNeeds,
  fit: Fit,
): FittedReasoning {
  const { budgetTokens, effort = DEFAULT_EFFORT } = settings;
  if (limits === undefined) {
    return { mode: "budget", budgetTokens, isOn: true };
  }
  const { requested, highest } = limits;
  const budget = Math.max(
    MIN_BUDGET_TOKENS,
    Math.floor(budgetTokens ?? budgetOfEffort(effort, requested)),
  );
  const raised = budget < requested
    ? requested
    : Math.min(requested + budget, highest);
  const fitting = Math.min(budget, raised - 1);
  if (fitting < MIN_BUDGET_TOKENS) {
    reportDropped(
      "the limit of the answer leaves no room for reasoning",
      fit.losses,
    );
    return stopped(undefined, fit.ability, fit.losses);
  }
  const hasEfforts = fit.ability.efforts?.length !== 0;
  return {
    mode: "budget",
    budgetTokens: fitting,
    effort: hasEfforts && settings.mode !== undefined
      ? fitEffort(settings.effort, fit)
      : undefined,
    maxOutputTokens: raised,
    isOn: true,
  };
}

function reportDropped(reason: string, losses: LossReport): void {
  losses.reportDropped("reasoning", reason);
}
