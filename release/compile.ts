/**
 * `deno task compile`: one executable for this machine, `dist/model-gateway`. With `--files` it also prints the
 * compiler's list of the embedded files.
 */
import { type Compiled, compileExecutable } from "./executable.ts";

/**
 * Returns the result for people: the file and the next commands, or the reason why there is no file.
 *
 * @param output The path of the executable below the repository.
 * @param bytes Its size.
 */
export function resultText(
  { outcome, report }: Compiled,
  { output, bytes }: { readonly output: string; readonly bytes: number },
): string {
  if (outcome === "no base") {
    return "Cannot compile: the base of the executable cannot be downloaded from dl.deno.land, or read from the path in " +
      "DENORT_BIN. Name a local copy there.\n";
  }
  if (outcome === "failed") {
    return `Cannot compile: the compiler failed. Its report:\n${report.trimEnd()}\n`;
  }
  if (outcome === "does not run") {
    const [printed = ""] = report.split("\nStack backtrace");
    return "Cannot compile: the new executable does not run. Its base must be of the version of Deno that compiles: " +
      `see DENORT_BIN. It printed:\n${printed.trimEnd()}\n`;
  }
  const command = (args: string) => `  ./${output} ${args}`.padEnd(56);
  return `Made ${output} (${
    Math.round(bytes / 1e6)
  } MB). It needs no runtime and no other file.
Next:
${command("demo")}# try it, without a key
${command("init anthropic > gateway.yaml")}# write a first configuration
${command("serve")}# serve it
`;
}

if (import.meta.main) {
  const ending = Deno.build.os === "windows" ? ".exe" : "";
  const output = `dist/model-gateway${ending}`;
  const compiled = await compileExecutable({ output });
  const isMade = compiled.outcome === "made";
  const bytes = isMade ? (await Deno.stat(output)).size : 0;
  if (Deno.args.includes("--files")) console.log(compiled.report.trimEnd());
  console.error(resultText(compiled, { output, bytes }).trimEnd());
  if (!isMade) Deno.exit(1);
}
