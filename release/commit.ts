const ROOT = new URL("../", import.meta.url);

/**
 * The commit of the source: 40 hexadecimal digits, followed by `-dirty` where files differ from it.
 *
 * @returns `undefined` where the source is no clone, or there is no git.
 */
export async function sourceCommit(): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args: ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
      cwd: ROOT,
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined;
  }
}
