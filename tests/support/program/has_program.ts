/** Returns true when this machine has a program; it runs the program, by default with `--version`. */
export async function hasProgram(
  name: string,
  args: readonly string[] = ["--version"],
): Promise<boolean> {
  try {
    return (await new Deno.Command(name, {
      args: [...args],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output()).success;
  } catch {
    return false;
  }
}
