import { type CommandSpec, usageLine } from "./command.ts";
import { type CliIo, EXIT } from "./io.ts";

/**
 * Tells what is wrong with the arguments of a command, how it is written, and where its help is.
 *
 * @returns The exit code for bad usage.
 */
export function badUsage(
  fault: string,
  spec: CommandSpec,
  { writeError }: Pick<CliIo, "writeError">,
): number {
  writeError(
    `${fault}\nusage: ${
      usageLine(spec)
    }\nmodel-gateway ${spec.name} --help tells more\n`,
  );
  return EXIT.badUsage;
}
