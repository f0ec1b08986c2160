import type { Connection, Deployment } from "../config.ts";
import type { DirectoryEntry } from "../directory.ts";
import {
  type Findings,
  formatPath,
  type Path,
  quote,
  suggestion,
} from "../problems.ts";
import type { ConnectionFields } from "../schema/connection.ts";

/** A fallback as the file says it. */
interface Fallback {
  readonly from: string;
  readonly to: string;
  readonly path: Path;
}

/**
 * Every name of a model with the enabled connections that serve it, in the file's order. An alias has the very
 * pool of its model, whichever connection names it.
 */
export function resolvePools(
  connections: readonly Connection[],
): ReadonlyMap<string, readonly Deployment[]> {
  const pools = new Map<string, Deployment[]>();
  const deployments = enabledDeployments(connections);
  for (const deployment of deployments) {
    const { id } = deployment.model;
    const pool = pools.get(id);
    if (pool === undefined) pools.set(id, [deployment]);
    else pool.push(deployment);
  }
  for (const { model } of deployments) {
    const pool = pools.get(model.id);
    if (pool === undefined) continue;
    for (const { id } of model.aliases) pools.set(id, pool);
  }
  return pools;
}

/** The names that lists of models have: what one enabled connection lists is listed. */
export function resolveListedModels(
  connections: readonly Connection[],
): readonly string[] {
  const namesById = new Map<string, string[]>();
  for (const { model } of enabledDeployments(connections)) {
    const names = [{ id: model.id, isListed: model.isListed }, ...model.aliases]
      .flatMap(({ id, isListed }) => isListed ? [id] : []);
    namesById.set(model.id, [...namesById.get(model.id) ?? [], ...names]);
  }
  return [...new Set([...namesById.values()].flat())];
}

function enabledDeployments(
  connections: readonly Connection[],
): readonly Deployment[] {
  return connections.filter(({ enabled }) => enabled)
    .flatMap((connection) =>
      connection.models.map((model) => ({ connection, model }))
    );
}

/** Reports the models that stand twice in one connection. */
export function reportDuplicateModels(
  fields: ConnectionFields,
  { path, findings }: {
    /** Of the connection. */
    readonly path: Path;
    readonly findings: Findings;
  },
): void {
  const indexById = new Map<string, number>();
  fields.models.forEach(({ id }, index) => {
    const first = indexById.get(id);
    if (first === undefined) {
      indexById.set(id, index);
      return;
    }
    const other = formatPath([...path, "models", first]);
    findings.problem(
      [...path, "models", index],
      `has the id of ${other}; ids differ within a connection`,
    );
  });
}

/** Reports fallbacks that name a model nobody serves, and those that lead back to their own model. */
export function reportFallbackFaults(
  connections: readonly (ConnectionFields | undefined)[],
  { directory, idByAlias, findings }: {
    readonly directory: readonly DirectoryEntry[];
    readonly idByAlias: ReadonlyMap<string, string>;
    readonly findings: Findings;
  },
): void {
  const known = new Set(directory.flatMap((entry) => [...entry.modelIds]));
  const fallbacks = listFallbacks(connections)
    .map((one) => ({ ...one, to: idByAlias.get(one.to) ?? one.to }));
  for (const { to, path } of fallbacks) {
    if (known.has(to)) continue;
    const message = `is served by no connection${suggestion(to, known)}`;
    findings.problem(path, message);
  }
  for (const { fallback, circle } of findCircles(fallbacks)) {
    const way = circle.map((model) => quote(model)).join(" → ");
    findings.problem(fallback.path, `leads in a circle: ${way}; remove one`);
  }
}

function listFallbacks(
  connections: readonly (ConnectionFields | undefined)[],
): readonly Fallback[] {
  return connections.flatMap((connection, connectionIndex) =>
    (connection?.models ?? []).flatMap((model, modelIndex) =>
      model.fallbacks.map((to, index) => ({
        from: model.id,
        to,
        path: [
          "connections",
          connectionIndex,
          "models",
          modelIndex,
          "fallbacks",
          index,
        ],
      }))
    )
  );
}

/**
 * The fallbacks that close a circle, each with the models on the way; found by walking the graph depth
 * first, with a stack of its own because a chain may be longer than the call stack.
 */
function* findCircles(
  fallbacks: readonly Fallback[],
): Iterable<{ readonly fallback: Fallback; readonly circle: string[] }> {
  const byModel = Map.groupBy(fallbacks, ({ from }) => from);
  const finished = new Set<string>();
  for (const start of byModel.keys()) {
    const way = [{ model: start, next: 0 }];
    const onWay = new Set([start]);
    for (let step = way.at(-1); step !== undefined; step = way.at(-1)) {
      const fallback = finished.has(step.model)
        ? undefined
        : byModel.get(step.model)?.[step.next++];
      if (fallback === undefined) {
        finished.add(step.model);
        onWay.delete(step.model);
        way.pop();
      } else if (onWay.has(fallback.to)) {
        const models = way.map(({ model }) => model);
        const circle = models.slice(models.indexOf(fallback.to));
        yield { fallback, circle: [...circle, fallback.to] };
      } else {
        way.push({ model: fallback.to, next: 0 });
        onWay.add(fallback.to);
      }
    }
  }
}
