import { Ajv2020 } from "npm:ajv@8.20.0/dist/2020.js";
import { configJsonSchema } from "../../../src/config/schema/json_schema.ts";

// Each format has a pattern with the same meaning.
const validate = new Ajv2020({ allErrors: true, validateFormats: false })
  .compile(configJsonSchema());

/** Returns the errors of a file against the JSON Schema of the configuration, a line each. */
export function schemaFaults(file: unknown): readonly string[] {
  return validate(file)
    ? []
    : (validate.errors ?? []).map((error) =>
      `${error.instancePath} ${error.message}`
    );
}
