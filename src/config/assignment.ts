import { isNonEmpty } from "../core/collections.ts";
import type { Caller, Config, Deployment } from "./config.ts";

/** The ways to serve one model, in the file's order. */
export type Deployments = readonly [Deployment, ...Deployment[]];

/**
 * The ways to serve a model to a caller: enabled connections that are assigned to the caller and have the
 * model, if the caller may use it.
 *
 * @param model Its id, or an alias: who may use the model may use every name of it.
 * @returns `undefined` when there is none, for whatever reason.
 */
export function deploymentsFor(
  model: string,
  caller: Caller,
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

/** The models that a caller may ask for, by id, in the file's order, each with the ways to serve it. */
export function assignedModels(
  caller: Caller,
  config: Config,
): Map<string, Deployments> {
  const models = assigned(config.pools.keys(), caller, config);
  for (const [name, [{ model }]] of models) {
    if (name !== model.id) models.delete(name);
  }
  return models;
}

/** What a list of models shows to a caller: ids and aliases, each with the ways to serve it. */
export function listedModels(
  caller: Caller,
  config: Config,
): Map<string, Deployments> {
  return assigned(config.listedModels, caller, config);
}

function assigned(
  names: Iterable<string>,
  caller: Caller,
  config: Config,
): Map<string, Deployments> {
  const models = new Map<string, Deployments>();
  for (const name of names) {
    const deployments = deploymentsFor(name, caller, config);
    if (deployments !== undefined) models.set(name, deployments);
  }
  return models;
}
