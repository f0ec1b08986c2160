import type { DirectoryEntry } from "../directory.ts";
import { type Findings, formatPath, type Path, quote } from "../problems.ts";
import type { ConnectionFields } from "../schema/connection.ts";

/** An alias as the file says it. */
interface Alias {
  readonly name: string;
  /** The id of the model that it stands at. */
  readonly of: string;
  readonly path: Path;
}

/** Reports aliases that are the id of a model, or that lead to two models: a name leads to one. */
export function reportAliasFaults(
  connections: readonly (ConnectionFields | undefined)[],
  { directory, findings }: {
    readonly directory: readonly DirectoryEntry[];
    readonly findings: Findings;
  },
): void {
  const ids = new Set(directory.flatMap((entry) => [...entry.modelIds]));
  const firstByName = new Map<string, Alias>();
  for (const alias of listAliases(connections)) {
    const { name, of, path } = alias;
    const first = firstByName.get(name);
    if (ids.has(name)) {
      const whose = name === of ? "of this very model" : "of another model";
      findings.problem(path, `is the id ${whose}; remove it`);
    } else if (first === undefined) {
      firstByName.set(name, alias);
    } else if (first.of !== of) {
      findings.problem(
        path,
        `also names the model ${quote(first.of)}, at ${
          formatPath(first.path)
        }; an alias names one model`,
      );
    }
  }
}

function listAliases(
  connections: readonly (ConnectionFields | undefined)[],
): readonly Alias[] {
  return connections.flatMap((connection, connectionIndex) =>
    (connection?.models ?? []).flatMap(({ id, aliases }, modelIndex) =>
      aliases.map((alias, index) => ({
        name: alias.id,
        of: id,
        path: [
          "connections",
          connectionIndex,
          "models",
          modelIndex,
          "aliases",
          index,
        ],
      }))
    )
  );
}
