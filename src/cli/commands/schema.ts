import { configJsonSchema } from "../../config/schema/json_schema.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";

/** The arguments and the help of `schema`. */
export const SCHEMA: CommandSpec = {
  name: "schema",
  summary: "print the JSON Schema of gateway.yaml, for editors",
  options: [],
  details: [
    "Editors use the schema when gateway.yaml begins with\n# yaml-language-server: $schema=gateway.schema.json",
  ],
};

/**
 * `schema`: prints the JSON Schema of the configuration.
 *
 * @returns The exit code.
 */
export function runSchema(args: readonly string[], io: CliIo): number {
  const read = readArguments(SCHEMA, args);
  if ("fault" in read) return badUsage(read.fault, SCHEMA, io);
  io.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return EXIT.good;
}
