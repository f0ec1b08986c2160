import { Ajv2020 } from "npm:ajv@8.20.0/dist/2020.js";
import { configJsonSchema } from "../../../src/config/schema/json_schema.ts";

// Formats only repeat what patterns beside them say.
const validate = new Ajv2020({ allErrors: true, validateFormats: false })
  .compile(configJsonSchema());

/** What the JSON Schema of the configuration finds wrong with a file, a line each; none where it is good. */
export function schemaFaults(file: unknown): readonly string[] {
  return validate(file)
    ? []
    : (validate.errors ?? []).map((error) =>
      `${error.instancePath} ${error.message}`
    );
}
