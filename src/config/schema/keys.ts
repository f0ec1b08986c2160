import { z } from "zod";
import type { Path } from "../problems.ts";

/** The keys that a schema knows at a path; none where it describes no mapping. */
export function knownKeys(schema: z.ZodType, path: Path): readonly string[] {
  let place = unwrap(schema);
  for (const key of path) {
    const next = place instanceof z.ZodObject
      ? place.shape[key]
      : place instanceof z.ZodArray
      ? place.element
      : place instanceof z.ZodRecord
      ? place.valueType
      : undefined;
    if (next === undefined) return [];
    place = unwrap(next);
  }
  return place instanceof z.ZodObject ? Object.keys(place.shape) : [];
}

/** What lies beneath defaults, optionality and preparation. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional
  ) {
    return unwrap(schema.unwrap());
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.out) : schema;
}
