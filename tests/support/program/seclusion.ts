const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;

/** Root may take up namespaces as it is; whoever else is root within them alone. */
const UNSHARE = [
  ...["unshare", "--net", "--mount"],
  ...(isRoot ? [] : ["--map-root-user"]),
];

/** Brings up the loopback, the one interface that there is, and makes the first argument an empty directory. */
const SCRIPT = [
  "ip link set lo up",
  "mount -o remount,bind,ro /",
  'mount -t tmpfs -o ro tmpfs "$1"',
  "shift",
  'exec "$@"',
].join(" && ");

/**
 * A command that runs where there is no network beyond the loopback and no file can be written.
 *
 * @param directory One that exists; the command finds it empty.
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

/** Whether this system lets whoever runs the tests seclude a command. */
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
