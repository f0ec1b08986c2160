import {
  configJsonSchema,
  includedJsonSchema,
} from "../../config/schema/json_schema.ts";
import { readArguments } from "../arguments.ts";
import {
  badArguments,
  type CliIo,
  type CommandSpec,
  EXIT,
} from "../command.ts";

/** The arguments and the help of `schema`. */
export const SCHEMA: CommandSpec = {
  name: "schema",
  summary: "print the JSON Schema of gateway.yaml, for editors",
  options: [{
    name: "included",
    summary: "print the schema of the files of `include` instead",
  }],
  details: [
    "Editors use the schema when gateway.yaml begins with\n# yaml-language-server: $schema=gateway.schema.json",
    "and a file of `include`, such as tokens.d/staff.yaml, with\n# yaml-language-server: $schema=../tokens.schema.json",
  ],
};

/**
 * `schema`: prints the JSON Schema of the configuration, or of an included file.
 *
 * @returns The exit code.
 */
export function runSchema(args: readonly string[], io: CliIo): number {
  const read = readArguments(SCHEMA, args);
  if ("fault" in read) return badArguments(read.fault, SCHEMA, io);
  const schema = read.flags.has("included")
    ? includedJsonSchema()
    : configJsonSchema();
  io.write(`${JSON.stringify(schema, null, 2)}\n`);
  return EXIT.good;
}
