import { aliasesIn, type DirectoryEntry } from "./directory.ts";
import { type Located, suggestion } from "@gateway/base/problems";
import type { Access } from "./config.ts";
import type { GroupFields } from "./schema/token.ts";

/** The connections and models that tokens may name. */
export interface SelectionIndex {
  readonly directory: readonly DirectoryEntry[];
  /** The connections by name and by id. A connection with several keys has an entry for each key. */
  readonly byReference: ReadonlyMap<string, readonly DirectoryEntry[]>;
  /** The ids of all connections. To save memory, all tokens that name `*` share this set. */
  readonly allIds: ReadonlySet<string>;
  readonly allModels: ReadonlySet<string>;
  /** The model id of each alias. */
  readonly idByAlias: ReadonlyMap<string, string>;
}

/** The options of {@linkcode selectFor} and {@linkcode entriesOf}. */
interface SelectOptions extends Located {
  readonly index: SelectionIndex;
}

/** What a token, rule or group lists itself. The lists of its groups are not included. */
interface NamedAccess {
  readonly connectionIds: ReadonlySet<string> | undefined;
  /** `undefined` when the entry names no models, or `*`. */
  readonly models: ReadonlySet<string> | undefined;
}

/** Indexes a directory, so that many tokens can be resolved quickly. */
export function indexSelection(
  directory: readonly DirectoryEntry[],
): SelectionIndex {
  const byReference = new Map<string, readonly DirectoryEntry[]>();
  for (const entry of directory) {
    for (const reference of entry.shared) {
      const others = byReference.get(reference) ?? [];
      byReference.set(reference, [...others, entry]);
    }
  }
  for (const key of ["name", "id"] as const) {
    for (const entry of directory) {
      const reference = entry[key];
      if (reference !== undefined) byReference.set(reference, [entry]);
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

/**
 * Returns the connections and models that a token, rule or group names. Reports names that do not exist.
 *
 * @param inheritedIds The connections that groups give. If a token or rule names no connections, these connections
 * serve its models.
 */
export function selectFor(
  { connections, models: written }: Pick<GroupFields, "connections" | "models">,
  inheritedIds: ReadonlySet<string> | undefined,
  options: SelectOptions,
): NamedAccess {
  const { idByAlias, directory, allIds, allModels } = options.index;
  const everything = connections?.includes("*") === true;
  const entries = selectEntries(connections ?? [], options);
  const models = written?.map((name) => idByAlias.get(name) ?? name);
  const ids = everything ? allIds : connections && idsOf(entries);
  const servedIds = ids ?? inheritedIds;
  if (everything || servedIds === undefined) {
    reportUnserved(models ?? [], { ...options, served: allModels });
  } else if (
    entries.length >= (connections?.length ?? 0) && servedIds.size > 0
  ) {
    const served = modelsOn(servedIds, directory);
    reportUnserved(models ?? [], { ...options, served });
  }
  return {
    connectionIds: ids,
    models: models === undefined || models.includes("*")
      ? undefined
      : new Set(models),
  };
}

/** Returns the regions that a token, rule or group names. Reports regions that no connection has. */
export function knownRegions(
  regions: readonly string[] | undefined,
  { index: { directory }, path, findings }: SelectOptions,
): readonly string[] | undefined {
  const known = new Set(directory.flatMap(({ region }) => region ?? []));
  regions?.forEach((region, position) => {
    if (known.has(region)) return;
    findings.problem(
      [...path, "regions", position],
      `is the region of no connection${suggestion(region, known) || "."}`,
    );
  });
  return regions;
}

/**
 * Divides the assigned connections into `connectionIds` in the regions and `outsideIds`. A connection without a region
 * is outside. Reports regions that leave the token or rule without connections.
 *
 * @param regions `undefined` means all regions.
 */
export function inRegions(
  regions: readonly string[] | undefined,
  assignedIds: ReadonlySet<string>,
  { index: { directory }, path, findings }: SelectOptions,
): Pick<Access, "connectionIds" | "regions" | "outsideIds"> {
  if (regions === undefined) return { connectionIds: assignedIds };
  const inside = idsOf(
    directory.filter(({ region }) =>
      region !== undefined && regions.includes(region)
    ),
  );
  const connectionIds = assignedIds.intersection(inside);
  if (connectionIds.size === 0 && assignedIds.size > 0) {
    findings.problem(
      [...path, "regions"],
      regions.length === 0
        ? "leave no region: the lists of the token and its groups have none in common."
        : `leave no connection: none of its connections is in ${
          regions.join(", ")
        }.`,
    );
  }
  return { connectionIds, regions, outsideIds: assignedIds.difference(inside) };
}

/** Returns the models of connections, disabled ones included. */
export function modelsOn(
  connectionIds: ReadonlySet<string>,
  directory: readonly DirectoryEntry[],
): ReadonlySet<string> {
  return new Set(
    directory.flatMap(({ id, modelIds }) =>
      id !== undefined && connectionIds.has(id) ? [...modelIds] : []
    ),
  );
}

/** Returns the connections that a token names by their names or ids. Ignores `*`. */
function selectEntries(
  references: readonly string[],
  { path, ...options }: SelectOptions,
): readonly DirectoryEntry[] {
  return references.flatMap((reference, position) =>
    reference === "*" ? [] : entriesOf(reference, {
      ...options,
      path: [...path, "connections", position],
    })
  );
}

/** Returns the entries of a connection, one for each of its keys. Reports a reference that matches no connection. */
export function entriesOf(
  reference: string,
  { index: { byReference }, path, findings }: SelectOptions,
): readonly DirectoryEntry[] {
  const entries = byReference.get(reference) ??
    byReference.get(reference.toLowerCase());
  if (entries !== undefined) return entries;
  const hint = suggestion(reference, byReference.keys()) || ".";
  findings.problem(
    path,
    `is neither the name nor the id of a connection${hint}`,
  );
  return [];
}

function reportUnserved(
  models: readonly string[],
  { index, path, findings, served }: SelectOptions & {
    readonly served: ReadonlySet<string>;
  },
): void {
  models.forEach((model, position) => {
    if (model === "*" || served.has(model)) return;
    const message = index.allModels.has(model)
      ? `is served by no connection of this ${
        path.includes("groups") ? "group" : "token"
      }.`
      : `is served by no connection${
        suggestion(model, index.allModels) || "."
      }`;
    findings.problem([...path, "models", position], message);
  });
}

function idsOf(entries: readonly DirectoryEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ id }) => id ?? []));
}
