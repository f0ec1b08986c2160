import type { RequestContext } from "../../canonical/codec.ts";
import type { RequestField } from "../../canonical/request/request.ts";

/** Reports the fields that have a value: the target has no such setting. */
export function loseGiven(
  context: RequestContext,
  fields: readonly (readonly [field: RequestField, value: unknown])[],
): void {
  for (const [field, value] of fields) {
    if (value === undefined) continue;
    context.lose({
      field,
      weight: "hint",
      reason: "this model's provider has no such setting",
    });
  }
}
