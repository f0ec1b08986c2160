const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;

/** The command that creates namespaces; other users than root become root inside them. */
const UNSHARE = [
  ...["unshare", "--net", "--mount"],
  ...(isRoot ? [] : ["--map-root-user"]),
];

/** Brings up the loopback, the only interface, and mounts an empty directory at the first argument. */
const SCRIPT = [
  "ip link set lo up",
  "mount -o remount,bind,ro /",
  'mount -t tmpfs -o ro tmpfs "$1"',
  "shift",
  'exec "$@"',
].join(" && ");

/**
 * Returns a command that runs with no network but the loopback and cannot write files.
 *
 * @param directory An existing directory; the command finds it empty.
 */
export function secludedCommand(
  directory: string,
  command: readonly string[],
): Deno.Command {
  const [program = "", ...args] = UNSHARE;
  return new Deno.Command(program, {
    args: [...args, "sh", "-c", SCRIPT, "sh", directory, ...command],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Returns true when the user of the tests may seclude a command on this system. */
export async function canSeclude(): Promise<boolean> {
  const directory = await Deno.makeTempDir();
  try {
    return (await secludedCommand(directory, ["true"]).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  } finally {
    await Deno.remove(directory);
  }
}
