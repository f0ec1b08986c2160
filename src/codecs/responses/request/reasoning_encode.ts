import { type JsonObject, present } from "@gateway/base/json";
import type { FittedReasoning } from "../../canonical/request/fit_reasoning.ts";
import type { ReasoningSettings } from "../../canonical/request/request.ts";
import { UNKNOWN_OPENAI_MODEL } from "../../dialects/openai_models.ts";
import type { Scope } from "../dialect.ts";

/** Encodes fitted reasoning settings. Adds the `include` that makes the provider return encrypted reasoning. */
export function encodeReasoning(
  { effort }: FittedReasoning,
  settings: ReasoningSettings | undefined,
  scope: Scope,
): JsonObject {
  const fields = present({ effort, summary: summaryFor(settings, scope) });
  return {
    ...(Object.keys(fields).length === 0 ? {} : { reasoning: fields }),
    ...(sealsReasoning(settings, scope)
      ? { include: ["reasoning.encrypted_content"] }
      : {}),
  };
}

/**
 * Returns the form of summary to request. Providers send summaries only on request. If the target always reasons, a
 * summary is requested by default, because it costs nothing there.
 */
function summaryFor(
  settings: ReasoningSettings | undefined,
  scope: Scope,
): string | undefined {
  const { dialect } = scope;
  const summary = settings?.summary;
  if (summary === "none") return undefined;
  if (!dialect.fitsModel && dialect.model?.efforts?.length === 0) {
    if (summary !== undefined) {
      scope.context.reportDropped("reasoning", "this model does not reason");
    }
    return undefined;
  }
  if (summary !== undefined || settings?.mode === "off") return summary;
  return dialect.alwaysReasons ? "auto" : undefined;
}

/** Returns true when the request may ask for encrypted reasoning. Models that never reason reject this. */
function sealsReasoning(
  settings: ReasoningSettings | undefined,
  { dialect }: Scope,
): boolean {
  const { model, alwaysReasons } = dialect;
  if (model?.efforts?.length === 0) return false;
  const isKnown = model !== undefined && model !== UNKNOWN_OPENAI_MODEL;
  return alwaysReasons || isKnown ||
    settings !== undefined && settings.mode !== "off";
}
