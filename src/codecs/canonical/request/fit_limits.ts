import type { LimitAbility } from "./ability.ts";
import type { LossReport } from "./loss.ts";
import type { CanonicalRequest } from "./request.ts";

/**
 * Returns the output limit, in tokens, to send to a target; `undefined` to send no limit.
 *
 * @param configured The highest output limit in the configuration of the model, if any.
 * @throws {GatewayError} As {@linkcode LossReport.reportDropped} does.
 */
export function fitOutputLimit(
  requested: number | undefined,
  ability: LimitAbility,
  configured: number | undefined,
  losses: LossReport,
): number | undefined {
  const { leastOutputTokens: least, usualOutputTokens: usual } = ability;
  const most = highestOutput(ability, configured);
  if (requested === undefined) {
    return usual !== undefined && most < Infinity ? most : usual;
  }
  if (requested > most) {
    losses.reportDropped(
      "maxOutputTokens",
      `this model generates at most ${most} tokens`,
    );
  } else if (requested < least) {
    losses.reportDropped(
      "maxOutputTokens",
      `this model accepts no limit below ${least} tokens`,
    );
  }
  return Math.max(least, Math.min(requested, most));
}

/** Returns the highest output limit of a target, in tokens. */
export function highestOutput(
  { mostOutputTokens }: LimitAbility,
  configured: number | undefined,
): number {
  return Math.min(mostOutputTokens, configured ?? Infinity);
}

/** Returns the stop strings that a target takes; `undefined` if no string is left. Throws as `reportDropped` does. */
export function fitStops(
  stop: CanonicalRequest["stop"],
  { mostStops, blankStops }: LimitAbility,
  losses: LossReport,
): CanonicalRequest["stop"] {
  if (stop === undefined) return undefined;
  const known = blankStops ? stop : stop.filter((one) => one.trim() !== "");
  if (known.length < stop.length) {
    losses.reportDropped(
      "stop",
      "this model's provider accepts no blank stop strings",
    );
  }
  if (known.length > mostStops) {
    losses.reportDropped(
      "stop",
      `this model accepts at most ${mostStops} stop strings; the gateway cuts the answer at further ones`,
    );
  }
  const taken = known.slice(0, mostStops);
  return taken.length === 0 ? undefined : taken;
}
