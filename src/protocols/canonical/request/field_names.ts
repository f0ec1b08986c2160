import type { JsonObject } from "../../../core/json.ts";
import type { CallerCodec } from "../codec.ts";
import { REQUEST_FIELDS, type RequestField } from "./request.ts";

/** What a protocol calls the canonical fields. */
export type FieldNames = Pick<CallerCodec, "fieldNames" | "otherNames">;

/**
 * What `body` calls a canonical field: where the protocol has several names for it, the one that stands in the body.
 */
export function nameIn(
  body: JsonObject,
  field: RequestField,
  names: FieldNames,
): string {
  return namesOf(field, names).find((name) => holds(body, name)) ??
    names.fieldNames[field];
}

/** The canonical field that the protocol calls `name`. */
export function fieldNamed(
  name: string,
  names: FieldNames,
): RequestField | undefined {
  return REQUEST_FIELDS.find((field) => namesOf(field, names).includes(name));
}

function namesOf(
  field: RequestField,
  { fieldNames, otherNames = {} }: FieldNames,
): readonly string[] {
  return [fieldNames[field], ...otherNames[field] ?? []];
}

/** Of a path such as `output_config.format`, only the first step is looked for. */
function holds(body: JsonObject, name: string): boolean {
  const [top = name] = name.split(".");
  return (body[top] ?? null) !== null;
}
