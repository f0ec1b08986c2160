import { z } from "zod";

/** What the registry says about one package, in its abbreviated form. */
const packumentSchema = z.object({
  "dist-tags": z.object({ latest: z.string() }),
  versions: z.record(
    z.string(),
    z.object({ deprecated: z.union([z.string(), z.boolean()]).optional() }),
  ),
});

const lockSchema = z.object({
  specifiers: z.record(z.string(), z.string()),
  npm: z.record(z.string(), z.unknown()),
});

/** A package at one version. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** True for one that the source names, false for one that another package brings. */
  readonly isNamed: boolean;
}

/** How a locked package stands in the registry. */
export interface PackageState extends LockedPackage {
  /** The version that the registry calls latest; `undefined` where the registry could not be read. */
  readonly latest: string | undefined;
  /** Why it must not be used; `undefined` for one that may. */
  readonly fault: "deprecated" | "yanked" | undefined;
}

/**
 * Lists the npm packages of locks, each name and version once.
 *
 * @param locks The texts of `deno.lock` files of version 5.
 */
export function lockedPackages(
  locks: readonly string[],
): readonly LockedPackage[] {
  const found = new Map<string, LockedPackage>();
  for (const lock of locks) {
    const { specifiers, npm } = lockSchema.parse(JSON.parse(lock));
    const named = new Set(
      Object.keys(specifiers).map((one) => one.replace(/^npm:/, "")),
    );
    for (const key of Object.keys(npm)) {
      const [id, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key) ?? [];
      if (id === undefined || name === undefined || version === undefined) {
        throw new Error(`Cannot read the lock: ${key} is not name@version.`);
      }
      const isNamed = named.has(id) || found.get(id)?.isNamed === true;
      found.set(id, { name, version, isNamed });
    }
  }
  return [...found.values()];
}

/**
 * Asks the registry about packages. One that cannot be read has no state to blame: its `latest` is `undefined`.
 *
 * @param options.read Returns the registry's text about a name, or `undefined` when it cannot be read. Never rejects.
 */
export async function packageStates(
  packages: readonly LockedPackage[],
  { read }: { readonly read: (name: string) => Promise<string | undefined> },
): Promise<readonly PackageState[]> {
  return await Promise.all(packages.map(async (locked) => {
    const text = await read(locked.name);
    const known = packument(text);
    if (known === undefined) {
      return { ...locked, latest: undefined, fault: undefined };
    }
    const { versions, "dist-tags": tags } = known;
    const version = versions[locked.version];
    const fault = version === undefined
      ? "yanked"
      : version.deprecated
      ? "deprecated"
      : undefined;
    return { ...locked, latest: tags.latest, fault };
  }));
}

/** Reads the registry's text. Another text, such as a proxy's page about an error, is none. */
function packument(text: string | undefined) {
  try {
    return packumentSchema.safeParse(JSON.parse(text ?? "null")).data;
  } catch {
    return undefined;
  }
}
