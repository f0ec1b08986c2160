import { configJsonSchema, includedJsonSchema } from "@gateway/gateway/config";
import { command, type Run } from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";

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
export const runSchema: Run<CliIo> = command(SCHEMA, ({ flags }, io) => {
  const schema = flags.has("included")
    ? includedJsonSchema()
    : configJsonSchema();
  io.write(`${JSON.stringify(schema, null, 2)}\n`);
  return EXIT.good;
});
