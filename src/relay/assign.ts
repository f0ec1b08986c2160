import type { Caller, Candidate, Config } from "../config/config.ts";
import { GatewayError } from "../core/error.ts";

/**
 * The ways to serve a model to a caller, in the file's order: enabled connections that are assigned to the
 * caller and have the model.
 *
 * @throws {GatewayError} `not_found` with code `model_not_found`: the same for a model that does not exist and
 * one that is not assigned, so that nobody can probe for models (design section 5).
 */
export function assign(
  model: string,
  caller: Caller,
  config: Config,
): readonly [Candidate, ...Candidate[]] {
  const pool = isAllowed(model, caller) ? config.pools.get(model) ?? [] : [];
  const [first, ...rest] = assignedCandidates(pool, caller);
  if (first === undefined) throw modelNotFound(model);
  return [first, ...rest];
}

/**
 * The models of a caller's active assignments, in the file's order, each with the ways to serve it as
 * {@linkcode assign} gives them.
 */
export function assignedModels(
  caller: Caller,
  config: Config,
): Map<string, readonly [Candidate, ...Candidate[]]> {
  const models = new Map<string, readonly [Candidate, ...Candidate[]]>();
  for (const [id, pool] of config.pools) {
    if (!isAllowed(id, caller)) continue;
    const [first, ...rest] = assignedCandidates(pool, caller);
    if (first !== undefined) models.set(id, [first, ...rest]);
  }
  return models;
}

/** The error for a model that the caller may not use, for whatever reason. */
export function modelNotFound(model: string): GatewayError {
  return new GatewayError(
    "not_found",
    `Cannot find the model ${
      quote(model)
    }: it does not exist or is not assigned to this token, see GET /models`,
    { param: "model", code: "model_not_found" },
  );
}

const MAX_QUOTED_LENGTH = 100;

/** The name is the caller's own text: escaped, and cut where it is no name. */
function quote(model: string): string {
  return JSON.stringify(
    model.length > MAX_QUOTED_LENGTH
      ? `${model.slice(0, MAX_QUOTED_LENGTH)}…`
      : model,
  );
}

function assignedCandidates(
  pool: readonly Candidate[],
  caller: Caller,
): readonly Candidate[] {
  return pool.filter(({ connection }) =>
    caller.connectionIds.has(connection.id)
  );
}

function isAllowed(model: string, { models }: Caller): boolean {
  return models === undefined || models.has(model);
}
