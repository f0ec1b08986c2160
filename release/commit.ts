const ROOT = new URL("../", import.meta.url);

/**
 * The commit of the source: 40 hexadecimal digits, followed by `-dirty` where files differ from it.
 *
 * @returns `undefined` where the source is no clone, or there is no git.
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

/** When the source was committed; 1970 where that cannot be told, since a build must not tell when it was made. */
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
