import type { Protocol } from "@gateway/base/protocol";
import type { Block } from "../content/block.ts";
import type { Tool } from "../tools/tool.ts";
import type { InnerSettings } from "../content/extras.ts";
import { type LossReport, NO_SETTING } from "./loss.ts";
import type { CanonicalRequest } from "./request.ts";

/** Reports each inner setting of another protocol than `protocol`; throws as `reportDropped` does. */
export function dropInnerSettings(
  { tools, turns }: CanonicalRequest,
  protocol: Protocol,
  losses: LossReport,
): void {
  const found = [
    ...tools.flatMap(settingsOfTool),
    ...turns.flatMap(({ blocks }) => blocks.flatMap(settingsOfBlock)),
  ];
  for (const settings of found) {
    if (settings.protocol === protocol) continue;
    for (const extra of settings.names) {
      losses.reportDropped({ extra }, NO_SETTING);
    }
  }
}

function settingsOfTool(tool: Tool): readonly InnerSettings[] {
  if (tool.kind === "hosted") return [];
  if (tool.kind === "namespace") return tool.tools.flatMap(settingsOfTool);
  return tool.settings === undefined ? [] : [tool.settings];
}

function settingsOfBlock(block: Block): readonly InnerSettings[] {
  if (block.kind === "tool_result") {
    return block.content.flatMap(settingsOfBlock);
  }
  return block.kind === "image" && block.settings !== undefined
    ? [block.settings]
    : [];
}
