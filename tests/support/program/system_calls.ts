import { hasProgram } from "./has_program.ts";

/** Returns true when system calls of a program can be traced on this machine. */
export async function canTrace(): Promise<boolean> {
  return Deno.build.os === "linux" &&
    await hasProgram("strace", ["-o", "/dev/null", "true"]) &&
    await hasProgram("systemd-analyze");
}

/** Returns the system calls in a summary of strace (`-c`). */
export function countedCalls(summary: string): ReadonlySet<string> {
  const rows = summary.split("\n").filter((line) => /^\s*\d/.test(line));
  const names = rows.map((row) => row.trim().split(/\s+/).at(-1) ?? "");
  return new Set(names.filter((name) => name !== "total"));
}

/**
 * Returns the system calls that a `SystemCallFilter` allows.
 *
 * @param filters The values of the filter in order; `~` removes calls.
 */
export async function allowedCalls(
  filters: readonly string[],
): Promise<ReadonlySet<string>> {
  let allowed: ReadonlySet<string> = new Set();
  for (const filter of filters) {
    for (const name of filter.replace("~", "").split(" ")) {
      const calls = await callsOf(name);
      allowed = filter.startsWith("~")
        ? allowed.difference(calls)
        : allowed.union(calls);
    }
  }
  return allowed;
}

/** Returns a single call, or the calls of a set of systemd with its nested sets. */
async function callsOf(name: string): Promise<ReadonlySet<string>> {
  if (!name.startsWith("@")) return new Set([name]);
  const { stdout } = await new Deno.Command("systemd-analyze", {
    args: ["syscall-filter", name],
  }).output();
  const [, ...lines] = new TextDecoder().decode(stdout).split("\n");
  const members = lines.map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const sets = await Promise.all(members.map(callsOf));
  return sets.reduce((all, one) => all.union(one), new Set<string>());
}
