import {
  formatPath,
  type Path,
  type Places,
  quote,
  textAt,
  valueAt,
} from "@gateway/base/problems";

/** The values of one file as written there, and the lines of these values. */
export interface Source {
  /** The values before their variables are expanded. */
  readonly tree: unknown;
  /** Returns the line of a value; `undefined` when the whole file is one line. */
  lineOf(path: Path): number | undefined;
}

/** The first key of a {@linkcode Path} into an included file. The file's name and the path in that file follow. */
export const INCLUDE = "include";

/** Lists whose entries have a `name`. */
const NAMED_LISTS: ReadonlySet<string | number> = new Set([
  "connections",
  "tokens",
]);

/**
 * Creates the names of the places in a configuration.
 *
 * @param main The configuration file.
 * @param included The included files, by their names in paths.
 */
export function createPlaces(
  main: Source,
  included: ReadonlyMap<string, Source>,
): Places {
  return {
    full(path) {
      const { file, source, inner } = find(path);
      const place = namedPath(inner, source) + lineWords(inner, source);
      return file === undefined ? place : joined(file, ": ", place);
    },
    brief(path) {
      const { file, source, inner } = find(path);
      const place = formatPath(inner);
      return (file === undefined ? place : joined(place, " of ", file)) +
        lineWords(inner, source);
    },
  };

  function find([key, file, ...inner]: Path) {
    const source = key === INCLUDE && typeof file === "string"
      ? included.get(file)
      : undefined;
    if (source !== undefined) return { file: `${file}`, source, inner };
    const path = [key, file, ...inner].filter((one) => one !== undefined);
    return { file: undefined, source: main, inner: path };
  }
}

/** Returns a path as text, with the name of the list's entry: `tokens[37] "bob".sha256`. */
function namedPath(path: Path, { tree }: Source): string {
  const [list, index] = path;
  if (list === undefined || !NAMED_LISTS.has(list) || index === undefined) {
    return formatPath(path);
  }
  const entry = formatPath([list, index]);
  const name = textAt(valueAt(tree, [list, index]), "name");
  if (name === undefined) return formatPath(path);
  return `${entry} ${quote(name)}${formatPath(path).slice(entry.length)}`;
}

function lineWords(path: Path, source: Source): string {
  const line = path.length === 0 ? undefined : source.lineOf(path);
  return line === undefined ? "" : `, line ${line}`;
}

function joined(one: string, by: string, other: string): string {
  return [one, other].filter((part) => part !== "").join(by);
}
