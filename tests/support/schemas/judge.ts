import { Ajv } from "npm:ajv@8.20.0";
import { Ajv2019 } from "npm:ajv@8.20.0/dist/2019.js";
import { Ajv2020 } from "npm:ajv@8.20.0/dist/2020.js";
import draft06 from "npm:ajv@8.20.0/dist/refs/json-schema-draft-06.json" with {
  type: "json",
};
import { default as Ajv04 } from "npm:ajv-draft-04@1.0.0";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import type { Draft } from "./random_schema.ts";

/** Returns true when a value matches the schema. */
export type Judge = (value: JsonValue) => boolean;

const OPTIONS = {
  strict: false,
  logger: false,
  validateFormats: false,
  ownProperties: true,
  messages: false,
  inlineRefs: false,
  code: { optimize: false },
} as const;

const DRAFT_06 = new Ajv(OPTIONS);
DRAFT_06.addMetaSchema(draft06);

const AJVS = {
  "4": new Ajv04.default(OPTIONS),
  "6": DRAFT_06,
  "7": new Ajv(OPTIONS),
  "2019": new Ajv2019(OPTIONS),
  "2020": new Ajv2020(OPTIONS),
} satisfies Record<Draft, unknown>;

/** Returns the judge of a schema; throws for one that is not valid in the draft. */
export function judgeOf(schema: JsonObject, draft: Draft): Judge {
  const validate = AJVS[draft].compile(schema);
  return (value) => validate(value) === true;
}
