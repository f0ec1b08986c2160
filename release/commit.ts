const ROOT = new URL("../", import.meta.url);

/**
 * Returns the commit of the source: 40 hexadecimal digits, followed by `-dirty` when files differ
 * from it.
 *
 * @returns `undefined` when the source is not a clone, or without git.
 */
export async function sourceCommit(): Promise<string | undefined> {
  return await git(
    "describe",
    "--always",
    "--dirty",
    "--abbrev=40",
    "--exclude=*",
  );
}

/**
 * Returns the time of the commit; 1970 when it is unknown. A build must not depend on its own time.
 */
export async function commitTime(): Promise<Date> {
  const seconds = await git("log", "-1", "--format=%ct");
  return new Date(Number(seconds ?? 0) * 1000);
}

async function git(...args: string[]): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args,
      cwd: ROOT,
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined;
  }
}
