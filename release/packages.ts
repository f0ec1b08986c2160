import { dirname, join } from "node:path";
import { z } from "zod";
import manifest from "../deno.json" with { type: "json" };

const ROOT = new URL("../", import.meta.url);

/** An npm package that the program embeds. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** The SHA-512 of its archive, in hexadecimal digits. */
  readonly sha512: string;
  /** The package URLs of its dependencies, sorted. */
  readonly dependsOn: readonly string[];
}

const lockSchema = z.object({
  npm: z.record(
    z.string(),
    z.object({
      integrity: z.string().startsWith("sha512-"),
      dependencies: z.array(z.string()).default([]),
    }),
  ),
});

/** The packages that the program never loads: only the command of `js-yaml` parses arguments. */
const UNLOADED: ReadonlySet<string> = new Set(["argparse"]);

const packageSchema = z.object({ license: z.string().min(1) });

/**
 * Lists the packages of a lock file, sorted by name and version.
 *
 * @param options.lock The text of a `deno.lock` of version 5.
 * @param options.readManifest Reads the `package.json` of a package.
 * @throws {Error} When a package has no licence, or the lock has no checksum: every released
 *   package needs both.
 */
export async function readPackages(
  { lock, readManifest }: {
    readonly lock: string;
    readonly readManifest: (name: string, version: string) => Promise<string>;
  },
): Promise<readonly Package[]> {
  const { npm } = lockSchema.parse(JSON.parse(lock));
  const keys = Object.keys(npm).filter(isLoaded).sort();
  return await Promise.all(keys.map(async (key) => {
    const { name, version } = splitKey(key);
    const { integrity, dependencies } = npm[key] ?? fault(key, "is not locked");
    const read = packageSchema.safeParse(
      JSON.parse(await readManifest(name, version)),
    );
    return {
      name,
      version,
      license: read.data?.license ?? fault(key, "names no licence"),
      sha512: hexOf(integrity.slice("sha512-".length)),
      dependsOn: dependencies.filter(isLoaded).map((wanted) =>
        packageUrl(splitKey(lockedKey(wanted, keys)))
      ).sort(),
    };
  }));
}

/** Returns true for a name, also with a version, of a package that the program loads. */
function isLoaded(key: string): boolean {
  return !UNLOADED.has(key.replace(/(?<=.)@.*/, ""));
}

/** Returns a package URL (github.com/package-url/purl-spec). */
export function packageUrl(
  { name, version }: { readonly name: string; readonly version: string },
): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** Splits `@scope/name@1.0.0`, and removes the peers after an underscore. */
function splitKey(key: string): { name: string; version: string } {
  const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key) ?? [];
  if (name === undefined || version === undefined) {
    return fault(key, "is not a name and version");
  }
  return { name, version };
}

/** Finds the key of a dependency. The lock omits the version when it has only one. */
function lockedKey(wanted: string, keys: readonly string[]): string {
  return keys.find((key) =>
    key === wanted || key.startsWith(`${wanted}@`) ||
    key.startsWith(`${wanted}_`)
  ) ?? fault(wanted, "is not locked");
}

function hexOf(base64: string): string {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).toHex();
}

function fault(name: string, what: string): never {
  throw new Error(`Cannot list the packages: ${name} ${what}`);
}

const infoSchema = z.object({ npmCache: z.string() });

/** Returns the folder in which Deno caches the packages of the registry. */
export async function npmCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
    cwd: ROOT,
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  const { npmCache: folder } = infoSchema.parse(JSON.parse(text));
  return `${folder}/registry.npmjs.org`;
}

/** The files that programs load, and the licences, which go with every copy. */
const KEPT_REGEXP = /\.[cm]?js$|\.json$|^licen[cs]e/i;

/**
 * Lists the files and folders of the packages that the program does not load: types, sources, maps, tests, CommonJS
 * modules with a twin to import, and what no import reaches in a package of which `deno.json` imports single files or
 * one ES module. An executable reads all that it embeds at each start, and keeps it in memory.
 *
 * @param lock The text of a `deno.lock` of version 5.
 */
export async function unusedFiles(lock: string): Promise<readonly string[]> {
  const cache = await npmCache();
  const { npm } = lockSchema.parse(JSON.parse(lock));
  const imported = Object.values(manifest.imports);
  const lists = await Promise.all(
    Object.keys(npm).map(async (key) => {
      const { name, version } = splitKey(key);
      const folder = `${cache}/${name}/${version}`;
      if (UNLOADED.has(name)) return [folder];
      const id = `npm:${name}@${version}`;
      const entries = imported.includes(id)
        ? await moduleEntry(folder)
        : imported.filter((one) => one.startsWith(`${id}/`))
          .map((one) => one.replace(id, folder));
      const isWhole = entries.length === 0;
      return unusedIn(folder, isWhole ? undefined : await reachedFrom(entries));
    }),
  );
  return lists.flat();
}

const entrySchema = z.object({
  exports: z.object({
    ".": z.object({ import: z.string().endsWith(".mjs") }),
  }),
});

/** Returns the ES module that a package's name imports; none when the package has another form. */
async function moduleEntry(folder: string): Promise<readonly string[]> {
  const text = await Deno.readTextFile(`${folder}/package.json`);
  const { data } = entrySchema.safeParse(JSON.parse(text));
  return data === undefined ? [] : [join(folder, data.exports["."].import)];
}

/** Matches an import of a file of the same package. */
const OWN_IMPORT_REGEXP = /\b(?:from|import)\b\s*\(?\s*["'](\.[^"']+)["']/g;

/** Returns the modules that these import, directly or not, and themselves. */
async function reachedFrom(
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  const reached = new Set(paths);
  // A set also visits what is added to it on the way.
  for (const path of reached) {
    const text = await Deno.readTextFile(path);
    for (const [, to = ""] of text.matchAll(OWN_IMPORT_REGEXP)) {
      reached.add(join(dirname(path), to));
    }
  }
  return reached;
}

/** @param reached The modules to keep; default: all. */
async function unusedIn(
  folder: string,
  reached: ReadonlySet<string> | undefined,
): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const names = new Set(entries.map(({ name }) => name));
  const lists = await Promise.all(entries.map(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory && !/^tests?$/.test(name)) return unusedIn(path, reached);
    const hasTwin = name.endsWith(".cjs") &&
      names.has(name.replace(/cjs$/, "js"));
    const isReached = reached?.has(path) ?? true;
    const isKept = KEPT_REGEXP.test(name) && !hasTwin &&
      (isReached || !name.endsWith(".js"));
    return isKept ? [] : [path];
  }));
  const isUnused = entries.every(({ name }, index) =>
    lists[index]?.at(0) === `${folder}/${name}`
  );
  return isUnused ? [folder] : lists.flat();
}
