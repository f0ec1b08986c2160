import { isJsonObject } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { Block } from "../content/block.ts";
import type { InnerSettings } from "../content/extras.ts";
import type { Tool } from "../tools/tool.ts";
import type { Ability } from "./ability.ts";
import { countCacheMarks, type LossReport, NO_SETTING } from "./loss.ts";
import type { CanonicalRequest } from "./request.ts";

/**
 * Reports the parts of a request that the target does not take and the encoder leaves out: extras and inner settings
 * of other protocols, cache marks, citations, a continued answer, names of participants.
 *
 * @throws {GatewayError} As {@linkcode LossReport.reportDropped} does.
 */
export function reportRest(
  request: CanonicalRequest,
  ability: Ability,
  losses: LossReport,
): void {
  reportForeignExtras(request, ability.protocol, losses);
  reportInnerSettings(request, ability.protocol, losses);
  reportCacheMarks(request, ability, losses);
  const { turns, continues } = request;
  if (!ability.citations && blocksOf(request).some(isCited)) {
    losses.reportDropped(
      { extra: "citations" },
      "this model's provider does not cite documents",
    );
  }
  if (!ability.continues && continues === true) {
    losses.reportDropped("messages", "this model cannot continue an answer");
  }
  if (!ability.names && turns.some(({ name }) => name !== undefined)) {
    losses.reportDropped(
      "messageName",
      "this model's provider does not support names of participants",
    );
  }
}

/** Returns the blocks of a request, and the blocks inside its tool results. */
function blocksOf({ turns }: CanonicalRequest): readonly Block[] {
  return turns.flatMap(({ blocks }) => blocks).flatMap((
    block,
  ): readonly Block[] =>
    block.kind === "tool_result" ? [block, ...block.content] : [block]
  );
}

/** Reports each extra that belongs to another protocol than `protocol`, with the weight of the extra. */
function reportForeignExtras(
  request: CanonicalRequest,
  protocol: Protocol,
  losses: LossReport,
): void {
  for (const [owner, extras] of Object.entries(request.extras)) {
    if (owner === protocol) continue;
    for (const [extra, { weight }] of Object.entries(extras)) {
      if (weight === "ignore") continue;
      losses.reportDropped({ extra }, NO_SETTING, weight);
    }
  }
}

/** Reports each inner setting of another protocol than `protocol`. */
function reportInnerSettings(
  request: CanonicalRequest,
  protocol: Protocol,
  losses: LossReport,
): void {
  const found = [
    ...request.tools.flatMap(settingsOfTool),
    ...blocksOf(request).flatMap((block) =>
      block.kind === "image" && block.settings ? [block.settings] : []
    ),
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

/** Reports the cache marks that the target does not take. */
function reportCacheMarks(
  request: CanonicalRequest,
  { cacheMarks, limits }: Pick<Ability, "cacheMarks" | "limits">,
  losses: LossReport,
): void {
  const drop = (reason: string) => losses.reportDropped("cache", reason);
  if (cacheMarks === "content") {
    if (countCacheMarks({ ...request, turns: [] }) > 0) {
      drop("this model's provider accepts cache marks only on content");
    }
    return;
  }
  const most = cacheMarks === "none" ? 0 : limits.mostCacheMarks;
  const count = countCacheMarks(request) +
    (request.cache === undefined ? 0 : 1);
  if (count <= most) return;
  drop(
    most === 0
      ? "this model's provider has no cache marks"
      : `this model's provider accepts at most ${most} cache marks`,
  );
}

function isCited(block: Block): boolean {
  if (block.kind === "file") return block.isCited === true;
  if (block.kind !== "opaque" || !isJsonObject(block.value)) return false;
  const { citations } = block.value;
  return isJsonObject(citations) && citations.enabled === true;
}
