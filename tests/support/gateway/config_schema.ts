import { Ajv2020 } from "npm:ajv@8.20.0/dist/2020.js";
import {
  configJsonSchema,
  includedJsonSchema,
} from "../../../src/gateway/config/schema/json_schema.ts";

// Each format has a pattern with the same meaning.
const ajv = new Ajv2020({ allErrors: true, validateFormats: false });
const validate = ajv.compile(configJsonSchema());
const validateIncluded = ajv.compile(includedJsonSchema());

/** Returns the errors of a file against the JSON Schema of the configuration, a line each. */
export function schemaFaults(file: unknown): readonly string[] {
  return faultsOf(validate, file);
}

/** Returns the errors of a file against the JSON Schema of included files, a line each. */
export function includedFaults(file: unknown): readonly string[] {
  return faultsOf(validateIncluded, file);
}

function faultsOf(check: typeof validate, file: unknown): readonly string[] {
  return check(file)
    ? []
    : (check.errors ?? []).map((error) =>
      `${error.instancePath} ${error.message}`
    );
}
