/** The files of `src/` and the specifiers in them, for the tests that read the source. */

export const SOURCE = new URL("../../../src/", import.meta.url);

/** The members of the workspace, each with the file of every path of its door, as in `{ "./time": "./time.ts" }`. */
export const DOORS: ReadonlyMap<string, Readonly<Record<string, string>>> =
  new Map(await Array.fromAsync(members()));

async function* members(): AsyncGenerator<
  [string, Readonly<Record<string, string>>]
> {
  for await (const { name } of Deno.readDir(SOURCE)) {
    const file = new URL(`${name}/deno.json`, SOURCE);
    const { exports } = JSON.parse(await Deno.readTextFile(file));
    yield [name, typeof exports === "string" ? { ".": exports } : exports];
  }
}

/** Yields every file with the ending below `folder`, with its path below `src/`. */
export async function* sourceFiles(
  { ending = ".ts", folder = SOURCE }: {
    readonly ending?: string;
    readonly folder?: URL;
  } = {},
): AsyncGenerator<{ readonly path: string; readonly url: URL }> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const url = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) yield* sourceFiles({ ending, folder: url });
    else if (name.endsWith(ending)) {
      yield { path: url.href.slice(SOURCE.href.length), url };
    }
  }
}

/**
 * Returns the path below `src/` of the file that `specifier` names in the file at `url`: a relative path, or a member
 * such as `@gateway/codecs`. Returns `undefined` for a package, and for a path that no door has.
 */
export function sourcePath(specifier: string, url: URL): string | undefined {
  if (specifier.startsWith(".")) {
    return new URL(specifier, url).href.slice(SOURCE.href.length);
  }
  const [, member = "", rest = ""] =
    /^@gateway\/([^/]+)(\/.*)?$/.exec(specifier) ?? [];
  const file = DOORS.get(member)?.[`.${rest}`];
  return file && `${member}/${file.slice("./".length)}`;
}
