import type { Protocol } from "@gateway/base/protocol";
import type { LossReport } from "../request/loss.ts";
import type { CanonicalRequest } from "../request/request.ts";
import {
  allowedTools,
  type HostedTool,
  isForce,
  nudgeForTool,
  type Tool,
  type ToolChoice,
  type WebSearch,
} from "./tool.ts";

/** The tools and choices that a target takes. */
export interface ChoiceAbility {
  /** The target's protocol. Hosted tools of other protocols do not run at the target. */
  readonly protocol: Protocol;
  /** True when a choice may list the allowed tools; if false, the request offers these alone. */
  readonly allowedList: boolean;
  /** The calls that a request may force: a call of a named tool, a call of any tool, or none. */
  readonly force: "named" | "any" | "never";
  /** True when a choice may forbid all calls; if false, the request omits the tools instead. */
  readonly forbid: boolean;
  /** True when the target's own web search replaces that of another protocol. */
  readonly webSearch: boolean;
}

/** The tools and the choice that the target takes. */
interface FittedChoice {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice | undefined;
  /** True when the model must call a tool. */
  readonly isForced: boolean;
  /** The instruction that replaces a forced call. */
  readonly nudge?: string | undefined;
}

/**
 * Fits the tools of a request, and the choice among them, to a target.
 *
 * @throws {GatewayError} As {@linkcode LossReport.reportDropped} does.
 */
export function fitChoice(
  request: Pick<CanonicalRequest, "tools" | "toolChoice" | "webSearch">,
  ability: ChoiceAbility,
  losses: LossReport,
): FittedChoice {
  const given = request.toolChoice;
  const offered = ability.allowedList
    ? request.tools
    : allowedTools(request.tools, given);
  const runnable = offered.filter((tool) => isRunnable(tool, ability, losses));
  const wanted = choiceFor(given, runnable, ability, losses);
  // With one tool in the request, forcing a call of any tool forces a call of this tool.
  const only = ability.force === "any" && wanted?.type === "tool"
    ? wanted.tool.name
    : undefined;
  const choice: ToolChoice | undefined = only === undefined
    ? wanted
    : { type: "required" };
  const tools = only === undefined
    ? runnable
    : runnable.filter((tool) => tool.kind !== "hosted" && tool.name === only);
  if (tools.length === 0 && !(ability.webSearch && request.webSearch)) {
    if (isForce(choice)) {
      losses.reportDropped(
        "toolChoice",
        "the request has no tool that this model can call",
      );
    }
    return { tools, choice: undefined, isForced: false };
  }
  if (choice?.type === "none" && !ability.forbid) {
    return { tools: [], choice: undefined, isForced: false };
  }
  if (ability.force === "never" && isForce(choice)) {
    losses.reportDropped(
      "toolChoice",
      "this model cannot be forced to call a tool; an instruction asks for the call instead",
    );
    const nudge = nudgeForTool(choice);
    return { tools, choice: { type: "auto" }, isForced: false, nudge };
  }
  return { tools, choice, isForced: isForce(choice) };
}

/** Returns true for a hosted tool of another protocol that the target's own web search replaces. */
export function isReplacedSearch(
  tool: Tool,
  { protocol, webSearch }: Pick<ChoiceAbility, "protocol" | "webSearch">,
): tool is HostedTool & { readonly webSearch: WebSearch } {
  return webSearch && tool.kind === "hosted" && tool.protocol !== protocol &&
    tool.webSearch !== undefined;
}

function isRunnable(
  tool: Tool,
  ability: ChoiceAbility,
  losses: LossReport,
): boolean {
  if (tool.kind !== "hosted" || tool.protocol === ability.protocol) return true;
  if (isReplacedSearch(tool, ability)) return true;
  losses.reportDropped(
    "tools",
    `this model's provider cannot run the tool \`${tool.type}\``,
  );
  return false;
}

/** Returns the choice in the target's terms; `undefined` for a hosted tool that does not run at the target. */
function choiceFor(
  choice: ToolChoice | undefined,
  tools: readonly Tool[],
  ability: ChoiceAbility,
  losses: LossReport,
): ToolChoice | undefined {
  if (choice?.type === "allowed" && !ability.allowedList) {
    return { type: choice.mode };
  }
  if (choice?.type !== "hosted" || choice.protocol === ability.protocol) {
    return choice;
  }
  const isReplaced = tools.some((tool) =>
    isReplacedSearch(tool, ability) && tool.value.name === choice.value.name
  );
  if (isReplaced) return choice;
  losses.reportDropped(
    "toolChoice",
    "it requires a tool that this model's provider cannot run",
  );
  return undefined;
}
