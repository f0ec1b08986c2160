import type { JsonObject } from "../../../core/json.ts";
import type { Protocol } from "../../../core/protocol.ts";
import type { Loss } from "./loss.ts";
import { type HostedTool, isForce, type ToolChoice } from "../tools/tool.ts";

/** A tool that its own upstream runs, as `protocol` spells it; `undefined` in any other, which loses it. */
export function encodeHostedTool(
  tool: HostedTool,
  protocol: Protocol,
  losses: { lose(loss: Loss): void },
): JsonObject | undefined {
  if (tool.protocol === protocol) return tool.value;
  losses.lose({
    field: "tools",
    weight: "hint",
    reason: `this model's provider cannot run the tool \`${tool.type}\``,
  });
  return undefined;
}

/**
 * Reports a choice of a tool that only the upstreams of another protocol than `protocol` run.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseForeignChoice(
  choice: ToolChoice | undefined,
  protocol: Protocol,
  losses: { lose(loss: Loss): void },
): void {
  if (choice?.type !== "hosted" || choice.protocol === protocol) return;
  losses.lose({
    field: "toolChoice",
    weight: "hint",
    reason: "it demands a tool that this model's provider cannot run",
  });
}

/**
 * Reports a force to call a tool of which the target is offered none.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseForceOnNothing(
  choice: ToolChoice | undefined,
  losses: { lose(loss: Loss): void },
): void {
  if (!isForce(choice)) return;
  losses.lose({
    field: "toolChoice",
    weight: "hint",
    reason: "this model is offered no tool that it could call",
  });
}
