import {
  isMapping,
  listAt,
  type Problem,
  textAt,
} from "../../config/problems.ts";
import { readYaml } from "../../config/load.ts";
import { INCLUDE } from "../../config/places.ts";
import { isIncludePattern } from "../../config/schema/config_file.ts";
import { beside, findFiles, readText } from "./config_file.ts";

/** A person of a list, who gets a token. */
export interface Person {
  /** The location in the list, for messages. */
  readonly place: string;
  readonly name: string;
  /** The groups of the list's column, perhaps none. */
  readonly groups: readonly string[];
}

/** The columns of a table, and the mark between them. */
interface Columns {
  readonly delimiter: string;
  readonly name: number;
  readonly group: number;
}

/**
 * Parses a list of people: a name on each line, or a table (CSV) whose first line is `name,group`. It skips empty lines
 * and those that begin with `#`. Several groups in a cell have commas or semicolons between them.
 *
 * @returns The people in order, and the problems of the list.
 */
export function parsePeople(
  text: string,
): {
  readonly people: readonly Person[];
  readonly problems: readonly Problem[];
} {
  const people: Person[] = [];
  const problems: Problem[] = [];
  let columns: Columns | undefined;
  let isFirst = true;
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|[\r\n]/);
  for (const [index, line] of lines.entries()) {
    const written = line.trim();
    if (written === "" || written.startsWith("#")) continue;
    const place = `line ${index + 1}`;
    const header = isFirst ? headerIn(line) : undefined;
    isFirst = false;
    if (header !== undefined) {
      columns = header;
      continue;
    }
    if (columns === undefined) {
      people.push({ place, name: written, groups: [] });
      continue;
    }
    const person = personIn(line, columns, place);
    if (person !== undefined) people.push(person);
    else problems.push({ path: place, message: ROW_MESSAGE });
  }
  return { people, problems };
}

const ROW_MESSAGE =
  "is not a row of the two columns. Put a cell with a comma or a quote into double quotes.";

/** Returns the columns when a line is the first one of a table. */
function headerIn(line: string): Columns | undefined {
  const [, delimiter] = /^\W*(?:name|groups?)\W*?([,;\t])/i.exec(line) ?? [];
  if (delimiter === undefined) return undefined;
  const cells = cellsIn(line, delimiter)?.map((cell) => cell.toLowerCase());
  if (cells?.length !== 2) return undefined;
  const name = cells.indexOf("name");
  const group = cells.findIndex((cell) => /^groups?$/.test(cell));
  return name === -1 || group === -1 ? undefined : { delimiter, name, group };
}

function personIn(
  line: string,
  { delimiter, name, group }: Columns,
  place: string,
): Person | undefined {
  const cells = cellsIn(line, delimiter);
  if (cells === undefined || cells.length > 2) return undefined;
  const groups = (cells[group] ?? "").split(/[,;]/).map((one) => one.trim());
  return {
    place,
    name: cells[name] ?? "",
    groups: groups.filter((one) => one !== ""),
  };
}

/** Returns the cells of a line of CSV (RFC 4180, section 2) without outer spaces; `undefined` for a broken quote. */
function cellsIn(line: string, delimiter: string): string[] | undefined {
  const cells: string[] = [];
  const cell = new RegExp(
    ` *(?:"((?:[^"]|"")*)"|([^"${delimiter}]*)) *(${delimiter}|$)`,
    "y",
  );
  for (;;) {
    const match = cell.exec(line);
    if (match === null) return undefined;
    const [, quoted, plain = "", end] = match;
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    if (end === "") return cells;
  }
}

/** The names in a configuration file and in those that it includes, before variables are expanded. */
export interface WrittenNames {
  /** The file of each token's name. */
  readonly tokens: ReadonlyMap<string, string>;
  /** Whether each group has connections. `undefined` when they are not known. */
  readonly groups: ReadonlyMap<string, boolean> | undefined;
  /** `undefined` when they are not known. */
  readonly connections: ReadonlySet<string> | undefined;
}

/**
 * Reads the names in a configuration file. Included files that cannot be read are skipped: one of them may be the file
 * that is being written.
 *
 * @throws The platform's error when the file itself cannot be read.
 * @returns `undefined` when it is no mapping in YAML.
 */
export async function readWrittenNames(
  path: string,
): Promise<WrittenNames | undefined> {
  const main = treeIn(await readText(path));
  if (!isMapping(main)) return undefined;
  const trees = new Map<string, unknown>([[path, main]]);
  for (const pattern of listAt(main, INCLUDE)) {
    if (typeof pattern !== "string" || !isIncludePattern(pattern)) continue;
    const folder = beside(path, "");
    const files = await findFiles({ pattern, folder }).catch(() => []);
    for (const file of files) {
      const text = await readText(beside(path, file)).catch(() => "");
      trees.set(file, treeIn(text));
    }
  }
  const namesIn = (tree: unknown, list: string) =>
    listAt(tree, list).flatMap((entry) => textAt(entry, "name") ?? []);
  return {
    tokens: new Map(
      [...trees].flatMap(([file, tree]) =>
        namesIn(tree, "tokens").map((name) => [name, file] as const)
      ),
    ),
    groups: new Map(
      [...trees.values()].flatMap((tree) =>
        isMapping(tree) && isMapping(tree.groups)
          ? Object.entries(tree.groups).map(([name, group]) =>
            [name, isMapping(group) && "connections" in group] as const
          )
          : []
      ),
    ),
    connections: new Set(namesIn(main, "connections")),
  };
}

function treeIn(text: string): unknown {
  const yaml = readYaml(text);
  return "problem" in yaml ? undefined : yaml.value;
}
