import { isNonEmpty } from "@gateway/base/collections";
import type { Access, Config, Deployment } from "./config.ts";

/** The deployments of one model, in the file's order. */
export type Deployments = readonly [Deployment, ...Deployment[]];

/**
 * Returns the deployments of a model that a caller may use: on enabled connections that are assigned to the caller.
 *
 * @param model The id or an alias of the model. A caller who may use the model may use all names of the model.
 * @returns `undefined` when the caller may use no deployment of the model.
 */
export function deploymentsFor(
  model: string,
  caller: Access,
  config: Config,
): Deployments | undefined {
  const pool = config.pools.get(model) ?? [];
  const id = pool.at(0)?.model.id;
  if (id === undefined || caller.models?.has(id) === false) return undefined;
  const deployments: Deployment[] = [];
  // `filter` takes four times as long on a frozen list.
  for (const deployment of pool) {
    const { id: connectionId } = deployment.connection;
    if (caller.connectionIds.has(connectionId)) deployments.push(deployment);
  }
  return isNonEmpty(deployments) ? deployments : undefined;
}

/** Returns the deployments of each model that a caller may request, by the model's id and in the file's order. */
export function assignedModels(
  caller: Access,
  config: Config,
): Map<string, Deployments> {
  const models = assigned(config.pools.keys(), caller, config);
  for (const [name, [{ model }]] of models) {
    if (name !== model.id) models.delete(name);
  }
  return models;
}

/** Returns the entries of a caller's list of models: ids and aliases, each with its deployments. */
export function listedModels(
  caller: Access,
  config: Config,
): Map<string, Deployments> {
  return assigned(config.listedModels, caller, config);
}

/** Returns the entries of a caller's list of models, then the ids and aliases that are not listed. */
export function listedAndUnlistedModels(
  caller: Access,
  config: Config,
): Map<string, Deployments> {
  const names = [...config.listedModels, ...config.pools.keys()];
  return assigned(names, caller, config);
}

function assigned(
  names: Iterable<string>,
  caller: Access,
  config: Config,
): Map<string, Deployments> {
  const models = new Map<string, Deployments>();
  for (const name of names) {
    const deployments = deploymentsFor(name, caller, config);
    if (deployments !== undefined) models.set(name, deployments);
  }
  return models;
}
