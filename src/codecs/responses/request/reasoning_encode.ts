import { type JsonObject, present } from "@gateway/base/json";
import { effortOf } from "../../canonical/answer/reasoning.ts";
import type {
  Effort,
  ReasoningSettings,
} from "../../canonical/request/request.ts";
import { closestEffort, type EffortWord } from "../../dialects/effort.ts";
import { UNKNOWN_OPENAI_MODEL } from "../../dialects/openai_models.ts";
import type { Scope } from "../dialect.ts";

/** The encoded reasoning settings of a request. */
export interface Reasoning {
  /** The `reasoning` settings, and the `include` that returns encrypted reasoning. */
  readonly fields: JsonObject;
  /** True when the model reasons in this request, which fixes its sampling. */
  readonly isOn: boolean;
}

/** The effort of a request that asks for reasoning without an amount. */
const DEFAULT_EFFORT: Effort = "medium";

/** Encodes the reasoning settings for the model. Unsupported settings are reported. */
export function encodeReasoning(
  settings: ReasoningSettings | undefined,
  scope: Scope,
): Reasoning {
  const { dialect } = scope;
  const effort = effortFor(settings, scope);
  const fields = present({ effort, summary: summaryFor(settings, scope) });
  return {
    fields: {
      ...(Object.keys(fields).length === 0 ? {} : { reasoning: fields }),
      ...(sealsReasoning(settings, scope)
        ? { include: ["reasoning.encrypted_content"] }
        : {}),
    },
    isOn: (effort ?? dialect.model?.defaultEffort ?? "none") !== "none",
  };
}

/** Returns the closest effort that the model supports, or `undefined` for its default. */
function effortFor(
  settings: ReasoningSettings | undefined,
  scope: Scope,
): EffortWord | undefined {
  const requested = settings === undefined
    ? undefined
    : requestedEffort(settings);
  if (requested === undefined) return undefined;
  const { dialect } = scope;
  const known = dialect.fitsModel ? undefined : dialect.model?.efforts;
  if (known === undefined || known.includes(requested)) return requested;
  if (requested === "none") {
    if (known.length > 0) reportDropped("this model always reasons", scope);
    return known[0];
  }
  const closest = closestEffort(requested, known);
  if (closest === undefined) reportDropped("this model does not reason", scope);
  else reportDropped("this model does not support this effort", scope);
  return closest;
}

function requestedEffort(settings: ReasoningSettings): EffortWord | undefined {
  const { mode } = settings;
  if (mode === "off") return "none";
  return effortOf(settings) ??
    (mode === undefined ? undefined : DEFAULT_EFFORT);
}

/**
 * Returns the summary to request. Providers send summaries only on request. A target that always reasons is asked for
 * one by default, because it costs nothing there.
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
      reportDropped("this model does not reason", scope);
    }
    return undefined;
  }
  if (summary !== undefined || settings?.mode === "off") return summary;
  return dialect.alwaysReasons ? "auto" : undefined;
}

/** Returns true when the target sends encrypted reasoning. Models that never reason reject it. */
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

function reportDropped(reason: string, { context }: Scope): void {
  context.reportDropped("reasoning", reason);
}
