import type { Ability } from "../request/ability.ts";
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

/** The tools of a target, and its protocol. Hosted tools of other protocols do not run at the target. */
type ToolTarget = Pick<Ability, "protocol" | "tools">;

/** The tools and the choice that the target takes. */
export interface FittedTools {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice | undefined;
  /** True when the model may call several tools at once; `undefined` to leave that to the target. */
  readonly parallel?: boolean | undefined;
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
export function fitTools(
  request: CanonicalRequest,
  target: ToolTarget,
  losses: LossReport,
): FittedTools {
  const { tools, ...fitted } = fitChoice(request, target, losses);
  const hasTools = tools.length > 0 || request.webSearch !== undefined;
  return {
    ...fitted,
    tools: sameStrictness(tools, target, losses),
    parallel: hasTools
      ? fitParallel(request.parallelTools, target, losses)
      : undefined,
  };
}

function fitChoice(
  request: CanonicalRequest,
  target: ToolTarget,
  losses: LossReport,
): FittedTools {
  const ability = target.tools;
  const given = request.toolChoice;
  const offered = ability.full
    ? request.tools
    : allowedTools(request.tools, given);
  const runnable = offered.filter((tool) => isRunnable(tool, target, losses));
  const wanted = choiceFor(given, runnable, target, losses);
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
  { protocol, tools }: ToolTarget,
): tool is HostedTool & { readonly webSearch: WebSearch } {
  return tools.webSearch && tool.kind === "hosted" &&
    tool.protocol !== protocol &&
    tool.webSearch !== undefined;
}

function isRunnable(
  tool: Tool,
  target: ToolTarget,
  losses: LossReport,
): boolean {
  if (tool.kind !== "hosted" || tool.protocol === target.protocol) return true;
  if (isReplacedSearch(tool, target)) return true;
  losses.reportDropped(
    "tools",
    `this model's provider cannot run the tool \`${tool.type}\``,
  );
  return false;
}

/** Returns the choice in the target's terms; `undefined` if it demands a hosted tool that the target cannot run. */
function choiceFor(
  choice: ToolChoice | undefined,
  tools: readonly Tool[],
  target: ToolTarget,
  losses: LossReport,
): ToolChoice | undefined {
  if (choice?.type === "allowed" && !target.tools.full) {
    return { type: choice.mode };
  }
  if (choice?.type !== "hosted" || choice.protocol === target.protocol) {
    return choice;
  }
  const isReplaced = tools.some((tool) =>
    isReplacedSearch(tool, target) && tool.value.name === choice.value.name
  );
  if (isReplaced) return choice;
  losses.reportDropped(
    "toolChoice",
    "it requires a tool that this model's provider cannot run",
  );
  return undefined;
}

/** Removes `strict` from all tools if only some tools have `strict` and the target takes `strict` only on all tools. */
function sameStrictness(
  tools: readonly Tool[],
  target: ToolTarget,
  losses: LossReport,
): readonly Tool[] {
  if (target.tools.mixedStrict) return tools;
  const strict = tools.filter((tool) =>
    tool.kind === "function" && tool.strict === true
  );
  if (strict.length === tools.length) return tools;
  if (strict.length > 0) {
    losses.reportDropped(
      "toolStrictness",
      "this model's provider accepts strict tools only if all tools are strict",
    );
  }
  return tools.map((tool) =>
    tool.kind === "function" ? { ...tool, strict: undefined } : tool
  );
}

function fitParallel(
  wanted: boolean | undefined,
  target: ToolTarget,
  losses: LossReport,
): boolean | undefined {
  if (target.tools.parallel) return wanted;
  if (wanted === false) {
    losses.reportDropped(
      "parallelTools",
      "this model decides itself whether it calls tools in parallel",
    );
  }
  return undefined;
}
