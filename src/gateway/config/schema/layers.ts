import { z } from "zod";

/** Returns a schema and the schemas that its defaults, optional wrappers and conversions wrap, the innermost last. */
export function layersOf(
  schema: z.core.$ZodType,
): readonly z.core.$ZodType[] {
  const within = innerOf(schema);
  return within === undefined ? [schema] : [schema, ...layersOf(within)];
}

function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional || schema instanceof z.ZodExactOptional
  ) return schema.unwrap();
  if (!(schema instanceof z.ZodPipe)) return undefined;
  return schema.out instanceof z.ZodTransform ? schema.in : schema.out;
}

/** Returns the schema beneath defaults, optional wrappers and conversions. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return layersOf(schema).at(-1) ?? schema;
}

/** Returns a value of a schema's `meta`, from the outermost layer that has it. */
export function metaOf(schema: z.core.$ZodType, name: string): unknown {
  return layersOf(schema).map((layer) => z.globalRegistry.get(layer)?.[name])
    .find((fact) => fact !== undefined);
}
