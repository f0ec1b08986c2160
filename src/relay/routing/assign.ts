import { type Deployments, deploymentsFor } from "../../config/assignment.ts";
import type { Caller, Config } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { shorten } from "../../core/shorten.ts";

/**
 * The deployments of a model that a caller may use, in the file's order.
 *
 * @throws {GatewayError} `not_found` with code `model_not_found`: the same for a model that does not exist and
 * one that is not assigned, so that nobody can probe for models (docs/design.md#paths).
 */
export function assign(
  model: string,
  caller: Caller,
  config: Config,
): Deployments {
  const deployments = deploymentsFor(model, caller, config);
  if (deployments === undefined) throw modelNotFound(model);
  return deployments;
}

/** The error for a model that the caller may not use, for whatever reason. */
export function modelNotFound(model: string): GatewayError {
  return new GatewayError(
    "not_found",
    `Cannot find the model ${
      quoteModel(model)
    }: it does not exist or is not assigned to this token, see GET /models`,
    { param: "model", code: "model_not_found" },
  );
}

const MAX_QUOTED_LENGTH = 100;

/** The name is the caller's own text: escaped, and cut where it is no name. */
export function quoteModel(model: string): string {
  return JSON.stringify(shorten(model, MAX_QUOTED_LENGTH));
}
