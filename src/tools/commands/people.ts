import { type Problem, quote } from "@gateway/base/problems";

/** A person of a list, who gets a token. */
export interface Person {
  /** The location in the list, for messages. */
  readonly place: string;
  readonly name: string;
  /** The groups in the person's row; may be empty. `undefined` when the list has no `group` column. */
  readonly groups: readonly string[] | undefined;
}

/** The columns of a list, and the characters that separate its cells. */
interface Columns {
  readonly delimiters: string;
  /** The number of cells in each row. */
  readonly count: number;
  /** The positions of the columns. */
  readonly name: number;
  readonly group: number | undefined;
  /** The message for a row that does not fit these columns. */
  readonly rowMessage: string;
}

/** The columns of a list that is no table: a name on each line. */
const PLAIN: Columns = {
  delimiters: ",;\t",
  count: 1,
  name: 0,
  group: undefined,
  rowMessage:
    "is not one name. Put a name with a comma, a semicolon or a tab into double quotes, or begin the file with the line name,group.",
};

interface ListOptions {
  /** True when columns other than `name` and `group` are skipped, not rejected. */
  readonly ignoresColumns: boolean;
}

/**
 * Parses a list of people. The list has a name on each line, or is a table (CSV) whose first line names the columns:
 * `name` and perhaps `group`. Skips empty lines and lines that begin with `#`. Commas or semicolons separate several
 * groups in a cell. A malformed line is reported as a problem, because a misread name or group would give access to the
 * wrong people.
 *
 * @returns The people in order, and the problems of the list.
 */
export function parsePeople(
  text: string,
  options: ListOptions,
): {
  readonly people: readonly Person[];
  readonly problems: readonly Problem[];
} {
  const people: Person[] = [];
  const problems: Problem[] = [];
  let columns: Columns | undefined;
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|[\r\n]/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const place = `line ${index + 1}`;
    if (columns === undefined) {
      const header = headerIn(line, options);
      if (header !== undefined && "messages" in header) {
        const found = header.messages.map((message) => ({
          path: place,
          message,
        }));
        return { people, problems: found };
      }
      columns = header ?? PLAIN;
      if (header !== undefined) continue;
    }
    const person = personIn(line, columns, place);
    if (person !== undefined) people.push(person);
    else problems.push({ path: place, message: columns.rowMessage });
  }
  return { people, problems };
}

/** The known columns, by each accepted spelling. */
const COLUMNS: ReadonlyMap<string, "name" | "group"> = new Map([
  ["name", "name"],
  ["group", "group"],
  ["groups", "group"],
]);

/**
 * Returns the columns that the first line of a list names, or the reasons why this line cannot be used.
 *
 * @returns `undefined` when the line is a person's name: such a list has no columns.
 */
function headerIn(
  line: string,
  { ignoresColumns }: ListOptions,
): Columns | { readonly messages: readonly string[] } | undefined {
  const [, delimiter] = /^(?:[^",;\t]|"(?:[^"]|"")*")*([,;\t])/.exec(line) ??
    [];
  const cells = cellsIn(line, delimiter ?? PLAIN.delimiters) ?? [];
  const names = cells.map((cell) => COLUMNS.get(cell.toLowerCase()));
  if (delimiter === undefined && names[0] === undefined) return undefined;
  if (!names.includes("name")) {
    const message =
      "is not a name, and not the first line of a table, which needs the column name. Begin a table with name,group. Put a name with a comma, a semicolon or a tab into double quotes.";
    return { messages: [message] };
  }
  const messages = cells.flatMap((cell, index) => {
    const name = names[index];
    if (name !== undefined) {
      return names.indexOf(name) === index
        ? []
        : [`has the column ${name} twice. Remove one.`];
    }
    return ignoresColumns ? [] : [
      `has the column ${
        quote(cell)
      }, which is not known. The columns are name and group. Remove it, or skip it with --ignore-columns.`,
    ];
  });
  if (messages.length > 0) return { messages };
  const group = names.indexOf("group");
  return {
    delimiters: delimiter ?? PLAIN.delimiters,
    count: cells.length,
    name: names.indexOf("name"),
    group: group === -1 ? undefined : group,
    rowMessage:
      `is not a row of the table: it needs as many cells as the first line, ${cells.length}. Put a cell with a comma or a quote into double quotes.`,
  };
}

function personIn(
  line: string,
  { delimiters, count, name, group }: Columns,
  place: string,
): Person | undefined {
  const cells = cellsIn(line, delimiters);
  // A name may hold a quote when the line has no separators.
  const isQuoteInName = count === 1 && !/[,;\t]/.test(line);
  const found = cells ?? (isQuoteInName ? [line.trim()] : []);
  if (found.length !== count) return undefined;
  return {
    place,
    name: found[name] ?? "",
    groups: group === undefined
      ? undefined
      : (found[group] ?? "").split(/[,;]/).map((one) => one.trim())
        .filter((one) => one !== ""),
  };
}

/**
 * Returns the cells of a line of CSV (RFC 4180, section 2) without outer spaces; `undefined` for a broken quote.
 *
 * @param delimiters The characters that end a cell.
 */
function cellsIn(line: string, delimiters: string): string[] | undefined {
  const cells: string[] = [];
  const cell = new RegExp(
    ` *(?:"((?:[^"]|"")*)"|([^"${delimiters}]*)) *([${delimiters}]|$)`,
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
