import { uuidV5 } from "../core/std.ts";
import {
  type Findings,
  formatPath,
  listAt,
  type Path,
  textAt,
} from "./problems.ts";

/** By which names a connection and its models are referred to. */
export interface DirectoryEntry {
  readonly path: Path;
  readonly name: string | undefined;
  /** Own or made from the name. */
  readonly id: string | undefined;
  readonly hasOwnId: boolean;
  readonly modelIds: ReadonlySet<string>;
  /** Which of these models each alias names. */
  readonly idByAlias: ReadonlyMap<string, string>;
}

/**
 * Lists the connections of a file with everything that references may name. Entries with problems
 * are in it as far as they can be read, so that one mistake makes no further ones appear.
 */
export async function readDirectory(
  tree: unknown,
): Promise<readonly DirectoryEntry[]> {
  return await Promise.all(
    listAt(tree, "connections").map(async (connection, index) => {
      const name = textAt(connection, "name");
      const ownId = textAt(connection, "id");
      const models = listAt(connection, "models");
      return {
        path: ["connections", index],
        name,
        id: name === undefined
          ? ownId?.toLowerCase()
          : await connectionId({ id: ownId, name }),
        hasOwnId: ownId !== undefined,
        modelIds: new Set(models.flatMap((model) => idOf(model) ?? [])),
        idByAlias: new Map(models.flatMap(aliasesOf)),
      };
    }),
  );
}

/** Which model each alias of a file names; where two claim it, the first. */
export function aliasesIn(
  directory: readonly DirectoryEntry[],
): ReadonlyMap<string, string> {
  const entries = directory.flatMap(({ idByAlias }) => [...idByAlias]);
  return new Map(entries.reverse());
}

/** The name of what may stand as a bare text or as a mapping with an id. */
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

/** Reports connections with one name, with one id, or with a name that is the id of another. */
export function reportAmbiguousNames(
  directory: readonly DirectoryEntry[],
  findings: Findings,
): void {
  const byName = new Map<string, DirectoryEntry>();
  const byId = new Map<string, DirectoryEntry>();
  for (const entry of directory) {
    const namesake = byName.get(entry.name ?? "");
    const twin = byId.get(entry.id ?? "");
    if (namesake !== undefined) {
      findings.problem(
        [...entry.path, "name"],
        `is also the name of ${formatPath(namesake.path)}; names must differ`,
      );
    } else if (twin !== undefined) {
      const place = entry.hasOwnId ? entry.path : twin.path;
      const other = entry.hasOwnId ? twin.path : entry.path;
      findings.problem(
        [...place, "id"],
        `is also the id of ${formatPath(other)}; ids must differ`,
      );
    }
    if (entry.name !== undefined) byName.set(entry.name, entry);
    if (entry.id !== undefined) byId.set(entry.id, entry);
  }
  for (const entry of directory) {
    const other = byId.get(entry.name?.toLowerCase() ?? "");
    if (other !== undefined && other !== entry) {
      findings.problem(
        [...entry.path, "name"],
        `is the id of ${formatPath(other.path)}; references would be ambiguous`,
      );
    }
  }
}

/** Under which names become ids (RFC 9562, section 5.5); made for this program. */
const ID_NAMESPACE = "ab7c63bb-b5c4-4b72-94ed-987782655fdf";

/** The id of a connection in lower case: its own, else the UUIDv5 of its name. */
export async function connectionId(
  { id, name }: { readonly id?: string | undefined; readonly name: string },
): Promise<string> {
  if (id !== undefined) return id.toLowerCase();
  return await uuidV5(ID_NAMESPACE, new TextEncoder().encode(name));
}
