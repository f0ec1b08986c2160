import { uuidV5 } from "@gateway/base/std";
import {
  type Findings,
  listAt,
  type Path,
  textAt,
  valueAt,
} from "@gateway/base/problems";

/** The names that refer to a connection, or to one of its keys, and to the connection's models. */
export interface DirectoryEntry {
  readonly path: Path;
  readonly name: string | undefined;
  /**
   * If the connection has several keys: the connection's name and id in the file. These names refer to all keys of the
   * connection. If the connection has one key: empty.
   */
  readonly shared: readonly string[];
  /** The configured id, or an id made from the name. */
  readonly id: string | undefined;
  readonly hasOwnId: boolean;
  readonly region: string | undefined;
  readonly modelIds: ReadonlySet<string>;
  /** The id of the model that each alias names. */
  readonly idByAlias: ReadonlyMap<string, string>;
}

/**
 * Lists the connections of a file with the names that references may use. A connection with problems is listed as far
 * as it can be read, so that one mistake causes no further problems.
 */
export async function readDirectory(
  tree: unknown,
): Promise<readonly DirectoryEntry[]> {
  const entries = await Promise.all(
    listAt(tree, "connections").map(async (connection, index) => {
      const name = textAt(connection, "name");
      const ownId = textAt(connection, "id");
      const models = listAt(connection, "models");
      const entry: DirectoryEntry = {
        path: ["connections", index],
        name,
        shared: [],
        id: name === undefined
          ? ownId?.toLowerCase()
          : await connectionId({ id: ownId, name }),
        hasOwnId: ownId !== undefined,
        region: textAt(connection, "region")?.toLowerCase(),
        modelIds: new Set(models.flatMap((model) => idOf(model) ?? [])),
        idByAlias: new Map(models.flatMap(aliasesOf)),
      };
      const keys = listAt(valueAt(connection, ["auth"]), "keys");
      if (name === undefined || keys.length === 0) return [entry];
      const labels = keys.map((key, at) => textAt(key, "name") ?? `${at + 1}`);
      const shared = [name, entry.id ?? name];
      return await Promise.all(
        [...new Set(labels)].map(async (label) => ({
          ...entry,
          ...await keyIdentity({ id: ownId, name }, label),
          shared,
        })),
      );
    }),
  );
  return entries.flat();
}

/** Returns the name and the id that stand for the key `label` of a connection. */
export async function keyIdentity(
  { id, name }: { readonly id?: string | undefined; readonly name: string },
  label: string,
): Promise<{ readonly name: string; readonly id: string }> {
  const base = id === undefined ? name : id.toLowerCase();
  return {
    name: `${name}#${label}`,
    id: await connectionId({ name: `${base}#${label}` }),
  };
}

/** Returns the model id of each alias of a file. For an alias of two models, returns one of the ids. */
export function aliasesIn(
  directory: readonly DirectoryEntry[],
): ReadonlyMap<string, string> {
  return new Map(directory.flatMap(({ idByAlias }) => [...idByAlias]));
}

/** Returns the id of a model or an alias in the file. The value is the id itself, or a mapping with an `id`. */
function idOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : textAt(value, "id");
}

function aliasesOf(model: unknown): readonly (readonly [string, string])[] {
  const id = idOf(model);
  if (id === undefined) return [];
  return listAt(model, "aliases").flatMap((alias) => {
    const name = idOf(alias);
    return name === undefined ? [] : [[name, id] as const];
  });
}

/** Reports connections that share a name or an id, and names that are the id of another connection. */
export function reportAmbiguousNames(
  directory: readonly DirectoryEntry[],
  findings: Findings,
): void {
  const byName = new Map<string, DirectoryEntry>();
  const byId = new Map<string, DirectoryEntry>();
  for (const entry of directory) {
    const sameName = byName.get(entry.name ?? "");
    const sameId = byId.get(entry.id ?? "");
    if (sameName !== undefined) {
      findings.problem(
        [...entry.path, "name"],
        `is also the name of ${
          findings.placeOf(sameName.path)
        }. Names must differ.`,
      );
    } else if (sameId !== undefined) {
      const place = entry.hasOwnId ? entry.path : sameId.path;
      const other = entry.hasOwnId ? sameId.path : entry.path;
      findings.problem(
        [...place, "id"],
        `is also the id of ${findings.placeOf(other)}. Ids must differ.`,
      );
    }
    if (entry.name !== undefined) byName.set(entry.name, entry);
    if (entry.id !== undefined) byId.set(entry.id, entry);
  }
  for (const { path, shared: [name = ""] } of directory) {
    const other = byName.get(name);
    if (other === undefined) continue;
    findings.problem(
      [...other.path, "name"],
      `is also the name of ${findings.placeOf(path)}. Names must differ.`,
    );
  }
  for (const entry of directory) {
    const other = byId.get(entry.name?.toLowerCase() ?? "");
    if (other !== undefined && other !== entry) {
      findings.problem(
        [...entry.path, "name"],
        `is the id of ${
          findings.placeOf(other.path)
        }, so that references would be ambiguous.`,
      );
    }
  }
}

/** The UUID namespace of connection names (RFC 9562, section 5.5), made for this program. */
const ID_NAMESPACE = "ab7c63bb-b5c4-4b72-94ed-987782655fdf";

/** Returns the id of a connection in lower case: the configured id, or the UUIDv5 of the connection's name. */
export async function connectionId(
  { id, name }: { readonly id?: string | undefined; readonly name: string },
): Promise<string> {
  if (id !== undefined) return id.toLowerCase();
  return await uuidV5(ID_NAMESPACE, new TextEncoder().encode(name));
}
