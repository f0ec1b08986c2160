/** A client in the npm registry. */
export interface ClientPackage {
  /** The name of the package. */
  readonly name: string;
  /** The tested version, never a range. */
  readonly version: string;
  /** The program for this machine, below `node_modules`; `undefined` when there is none. */
  readonly executable: string | undefined;
}

/** A client that can start, or the reason why it cannot. */
export type InstalledClient =
  | { readonly command: readonly string[] }
  | { readonly reason: string };

/** A package's program, or the reason why there is none. */
type InstalledPackage =
  | { readonly path: string }
  | { readonly reason: string };

/** Installs a client, and its runtime when it needs one. */
export async function installClient(
  { source, runtime }: {
    readonly source: ClientPackage;
    readonly runtime?: ClientPackage;
  },
): Promise<InstalledClient> {
  const command: string[] = [];
  for (const one of runtime === undefined ? [source] : [runtime, source]) {
    const installed = await installPackage(one);
    if ("reason" in installed) return installed;
    command.push(installed.path);
  }
  return { command };
}

/** More time than a download takes, in milliseconds. */
const INSTALL_MS = 300_000;

/**
 * Installs a package from npm, once for each version; it stays in the folder for temporary files.
 * Install scripts do not run: all clients have their program in a package per platform.
 */
async function installPackage(
  { name, version, executable }: ClientPackage,
): Promise<InstalledPackage> {
  if (executable === undefined) {
    return { reason: `${name} has no program for ${Deno.build.target}` };
  }
  const folder = `${cacheFolder()}/${name.replaceAll("/", "_")}@${version}`;
  const path = `${folder}/node_modules/${executable}`;
  if (await exists(path)) return { path };
  await Deno.mkdir(folder, { recursive: true });
  const failed = await runNpm(folder, `${name}@${version}`);
  if (failed !== undefined) return { reason: failed };
  return await exists(path)
    ? { path }
    : { reason: `${name}@${version} came without ${executable}` };
}

/** The folder that keeps installed clients, below the one for temporary files. */
export function cacheFolder(): string {
  const base = Deno.env.get("TMPDIR") ?? "/tmp";
  return `${base.replace(/\/$/, "")}/model-gateway-clients`;
}

/** True if there is a file or a folder of this path. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** @returns The error, if there was one. */
async function runNpm(
  folder: string,
  spec: string,
): Promise<string | undefined> {
  const args = [
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-save",
    "--prefix",
    folder,
    spec,
  ];
  try {
    const { success, stderr } = await new Deno.Command("npm", {
      args,
      cwd: folder,
      stdin: "null",
      signal: AbortSignal.timeout(INSTALL_MS),
    }).output();
    if (success) return undefined;
    return `npm cannot install ${spec}: ${lastError(stderr)}`;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return "npm is not installed here";
  }
}

function lastError(stderr: Uint8Array): string {
  const lines = new TextDecoder().decode(stderr).split("\n");
  return lines.find((line) => line.startsWith("npm error")) ??
    "no reason given";
}
