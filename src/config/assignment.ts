import type { Caller, Config, Deployment } from "./config.ts";

/** The ways to serve one model, in the file's order. */
export type Deployments = readonly [Deployment, ...Deployment[]];

/**
 * The ways to serve a model to a caller: enabled connections that are assigned to the caller and have the
 * model, if the caller may use it.
 *
 * @returns `undefined` when there is none, for whatever reason.
 */
export function deploymentsFor(
  model: string,
  caller: Caller,
  config: Config,
): Deployments | undefined {
  const isAllowed = caller.models === undefined || caller.models.has(model);
  const pool = isAllowed ? config.pools.get(model) ?? [] : [];
  const [first, ...rest] = pool.filter(({ connection }) =>
    caller.connectionIds.has(connection.id)
  );
  return first === undefined ? undefined : [first, ...rest];
}

/** The models that a caller may ask for, in the file's order, each with the ways to serve it. */
export function assignedModels(
  caller: Caller,
  config: Config,
): Map<string, Deployments> {
  const models = new Map<string, Deployments>();
  for (const model of config.pools.keys()) {
    const deployments = deploymentsFor(model, caller, config);
    if (deployments !== undefined) models.set(model, deployments);
  }
  return models;
}
