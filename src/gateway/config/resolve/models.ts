import type { Connection, Deployment } from "../config.ts";
import type { DirectoryEntry } from "../directory.ts";
import {
  createClaims,
  type Findings,
  type Located,
  type Path,
  quote,
  suggestion,
} from "@gateway/base/problems";
import type { ConnectionFields } from "../schema/connection.ts";

/** An alias or a fallback in the file. */
interface ModelReference {
  /** The id of the model with this alias or fallback. */
  readonly of: string;
  readonly name: string;
  readonly path: Path;
}

/**
 * Returns the enabled deployments of each model name, in the file's order. An alias shares the pool of its model, even
 * when only one connection names the alias.
 */
export function resolvePools(
  connections: readonly Connection[],
): ReadonlyMap<string, readonly Deployment[]> {
  const deployments = enabledDeployments(connections);
  const pools = Map.groupBy(deployments, ({ model }) => model.id);
  for (const { model } of deployments) {
    const pool = pools.get(model.id);
    if (pool === undefined) continue;
    for (const { id } of model.aliases) pools.set(id, pool);
  }
  return pools;
}

/** Returns the names for lists of models. A name is listed when at least one enabled connection lists it. */
export function resolveListedModels(
  connections: readonly Connection[],
): readonly string[] {
  const models = enabledDeployments(connections).map(({ model }) => model);
  const names = [...Map.groupBy(models, ({ id }) => id).values()].flat()
    .flatMap((model) => [model, ...model.aliases])
    .flatMap(({ id, isListed }) => isListed ? [id] : []);
  return [...new Set(names)];
}

function enabledDeployments(
  connections: readonly Connection[],
): readonly Deployment[] {
  return connections.filter(({ enabled }) => enabled)
    .flatMap((connection) =>
      connection.models.map((model) => ({ connection, model }))
    );
}

/** Reports models that appear twice in one connection. */
export function reportDuplicateModels(
  fields: ConnectionFields,
  { path, findings }: Located,
): void {
  const claimId = createClaims(
    findings,
    (other) =>
      `has the id of ${other}. Each model of a connection needs its own.`,
  );
  for (const [index, { id }] of fields.models.entries()) {
    claimId(id, [...path, "models", index]);
  }
}

/** Reports fallbacks to models that no connection serves, and fallbacks that form a cycle. */
export function reportFallbackProblems(
  connections: readonly (ConnectionFields | undefined)[],
  { directory, idByAlias, findings }: {
    readonly directory: readonly DirectoryEntry[];
    readonly idByAlias: ReadonlyMap<string, string>;
    readonly findings: Findings;
  },
): void {
  const known = new Set(directory.flatMap((entry) => [...entry.modelIds]));
  const fallbacks = listReferences(connections, "fallbacks")
    .map((one) => ({ ...one, name: idByAlias.get(one.name) ?? one.name }));
  for (const { name, path } of fallbacks) {
    if (known.has(name)) continue;
    const hint = suggestion(name, known) || ".";
    findings.problem(path, `is served by no connection${hint}`);
  }
  for (const { fallback, cycle } of findCycles(fallbacks)) {
    const trail = cycle.map((model) => quote(model)).join(" → ");
    findings.problem(fallback.path, `leads in a cycle: ${trail}. Remove one.`);
  }
}

/** Lists the aliases or the fallbacks of all models. */
export function listReferences(
  connections: readonly (ConnectionFields | undefined)[],
  key: "aliases" | "fallbacks",
): readonly ModelReference[] {
  return connections.flatMap((connection, at) =>
    (connection?.models ?? []).flatMap((model, modelAt) =>
      model[key].map((one, index) => ({
        of: model.id,
        name: typeof one === "string" ? one : one.id,
        path: ["connections", at, "models", modelAt, key, index],
      }))
    )
  );
}

/**
 * Yields the fallbacks that close a cycle, each with the models of the cycle. Searches depth first with a list as its
 * stack, because recursion along a long chain could exceed the call stack.
 */
function* findCycles(
  fallbacks: readonly ModelReference[],
): Iterable<{ readonly fallback: ModelReference; readonly cycle: string[] }> {
  const byModel = Map.groupBy(fallbacks, ({ of }) => of);
  const finished = new Set<string>();
  for (const start of byModel.keys()) {
    const trail = [{ model: start, next: 0 }];
    const onTrail = new Set([start]);
    for (let step = trail.at(-1); step !== undefined; step = trail.at(-1)) {
      const fallback = finished.has(step.model)
        ? undefined
        : byModel.get(step.model)?.[step.next++];
      if (fallback === undefined) {
        finished.add(step.model);
        onTrail.delete(step.model);
        trail.pop();
      } else if (onTrail.has(fallback.name)) {
        const models = trail.map(({ model }) => model);
        const cycle = models.slice(models.indexOf(fallback.name));
        yield { fallback, cycle: [...cycle, fallback.name] };
      } else {
        trail.push({ model: fallback.name, next: 0 });
        onTrail.add(fallback.name);
      }
    }
  }
}
