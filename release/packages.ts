import { z } from "zod";

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

const manifestSchema = z.object({ license: z.string().min(1) });

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
  const keys = Object.keys(npm).sort();
  return await Promise.all(keys.map(async (key) => {
    const { name, version } = splitKey(key);
    const { integrity, dependencies } = npm[key] ?? fault(key, "is not locked");
    const manifest = manifestSchema.safeParse(
      JSON.parse(await readManifest(name, version)),
    );
    return {
      name,
      version,
      license: manifest.data?.license ?? fault(key, "names no licence"),
      sha512: hexOf(integrity.slice("sha512-".length)),
      dependsOn: dependencies.map((wanted) =>
        packageUrl(splitKey(lockedKey(wanted, keys)))
      ).sort(),
    };
  }));
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
 * Lists the files and folders of the packages that the program does not load: types, sources, maps, tests, and CommonJS
 * modules with a twin to import. An executable has all that it embeds in memory, twice as much as all that it uses.
 *
 * @param lock The text of a `deno.lock` of version 5.
 */
export async function unusedFiles(lock: string): Promise<readonly string[]> {
  const cache = await npmCache();
  const { npm } = lockSchema.parse(JSON.parse(lock));
  const lists = await Promise.all(
    Object.keys(npm).map((key) => {
      const { name, version } = splitKey(key);
      return unusedIn(`${cache}/${name}/${version}`);
    }),
  );
  return lists.flat();
}

async function unusedIn(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const names = new Set(entries.map(({ name }) => name));
  const lists = await Promise.all(entries.map(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory && !/^tests?$/.test(name)) return unusedIn(path);
    const hasTwin = name.endsWith(".cjs") &&
      names.has(name.replace(/cjs$/, "js"));
    return KEPT_REGEXP.test(name) && !hasTwin ? [] : [path];
  }));
  const isUnused = entries.every(({ name }, index) =>
    lists[index]?.at(0) === `${folder}/${name}`
  );
  return isUnused ? [folder] : lists.flat();
}
