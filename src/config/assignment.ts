import type { Caller, Candidate, Config } from "./config.ts";

/** The ways to serve one model, in the file's order. */
export type Candidates = readonly [Candidate, ...Candidate[]];

/**
 * The ways to serve a model to a caller: enabled connections that are assigned to the caller and have the
 * model, if the caller may use it.
 *
 * @returns `undefined` when there is none, for whatever reason.
 */
export function candidatesFor(
  model: string,
  caller: Caller,
  config: Config,
): Candidates | undefined {
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
): Map<string, Candidates> {
  const models = new Map<string, Candidates>();
  for (const model of config.pools.keys()) {
    const candidates = candidatesFor(model, caller, config);
    if (candidates !== undefined) models.set(model, candidates);
  }
  return models;
}
