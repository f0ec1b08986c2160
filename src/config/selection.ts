import type { Caller } from "./config.ts";
import { aliasesIn, type DirectoryEntry } from "./directory.ts";
import { type Findings, type Path, suggestion } from "./problems.ts";
import type { AccessFields } from "./schema/token.ts";

/** The connections and models that tokens may name. */
export interface SelectionIndex {
  readonly directory: readonly DirectoryEntry[];
  /** By name and by id. */
  readonly byReference: ReadonlyMap<string, DirectoryEntry>;
  /** A set shared by all tokens with every connection, which saves memory for thousands of tokens. */
  readonly allIds: ReadonlySet<string>;
  readonly allModels: ReadonlySet<string>;
  /** The model id of each alias. */
  readonly idByAlias: ReadonlyMap<string, string>;
}

/** The options of {@linkcode selectFor}. */
interface SelectOptions {
  readonly index: SelectionIndex;
  /** The path of the token. */
  readonly path: Path;
  readonly findings: Findings;
}

/** Indexes a directory, so that many tokens can be resolved quickly. */
export function indexSelection(
  directory: readonly DirectoryEntry[],
): SelectionIndex {
  const byReference = new Map<string, DirectoryEntry>();
  for (const key of ["name", "id"] as const) {
    for (const entry of directory) {
      const reference = entry[key];
      if (reference !== undefined) byReference.set(reference, entry);
    }
  }
  return {
    directory,
    byReference,
    allIds: idsOf(directory),
    allModels: new Set(directory.flatMap(({ modelIds }) => [...modelIds])),
    idByAlias: aliasesIn(directory),
  };
}

/** Returns the connections and models of a token. Reports names that do not exist. */
export function selectFor(
  token: AccessFields,
  options: SelectOptions,
): Pick<Caller, "connectionIds" | "models"> {
  const everything = token.connections.includes("*");
  const entries = selectEntries(token.connections, options);
  const { idByAlias } = options.index;
  const models = (token.models ?? ["*"])
    .map((name) => idByAlias.get(name) ?? name);
  const allKnown = entries.length === token.connections.length;
  if (everything) {
    const { allModels } = options.index;
    reportUnserved(models, { ...options, serves: (id) => allModels.has(id) });
  } else if (allKnown && entries.length > 0) {
    const serves = (id: string) =>
      entries.some(({ modelIds }) => modelIds.has(id));
    reportUnserved(models, { ...options, serves });
  }
  return {
    connectionIds: everything ? options.index.allIds : idsOf(entries),
    models: models.includes("*") ? undefined : new Set(models),
  };
}

/** Returns the connections that a token names individually. */
function selectEntries(
  references: readonly string[],
  { index, path, findings }: SelectOptions,
): readonly DirectoryEntry[] {
  return references.flatMap((reference, position) => {
    if (reference === "*") return [];
    const entry = index.byReference.get(reference) ??
      index.byReference.get(reference.toLowerCase());
    if (entry !== undefined) return [entry];
    findings.problem(
      [...path, "connections", position],
      `is neither the name nor the id of a connection${
        suggestion(reference, index.byReference.keys()) || "."
      }`,
    );
    return [];
  });
}

function reportUnserved(
  models: readonly string[],
  { index, path, findings, serves }: SelectOptions & {
    readonly serves: (model: string) => boolean;
  },
): void {
  models.forEach((model, position) => {
    if (model === "*" || serves(model)) return;
    const message = index.allModels.has(model)
      ? "is served by no connection of this token."
      : `is served by no connection${
        suggestion(model, index.allModels) || "."
      }`;
    findings.problem([...path, "models", position], message);
  });
}

function idsOf(entries: readonly DirectoryEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ id }) => id ?? []));
}
