import { z } from "zod";
import { metaOf, unwrap } from "./layers.ts";

/** The units that the names of resolved options end with. */
export type Unit = "Ms" | "Bytes";

/** A number in a known unit. */
export type Quantity<In extends Unit> = number & z.core.$brand<In>;

/**
 * The fields of a mapping in the file, under their names in the code: `first_byte` is `firstByteMs`, in milliseconds.
 */
export type Renamed<Fields> = {
  readonly [Key in keyof Fields as CodeName<Key & string, Fields[Key]>]: Value<
    Fields[Key]
  >;
};

type CodeName<Key extends string, Field> = Key extends `${infer Stem}_seconds`
  ? `${Camel<Stem>}Ms`
  : NonNullable<Field> extends Quantity<infer In> ? `${Camel<Key>}${In}`
  : Camel<Key>;

type Camel<Key extends string> = Key extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Key;

type Value<Field> = Field extends number & z.core.$brand ? number
  : Field extends readonly (infer Item)[] ? readonly Item[]
  : Field;

const SECONDS_REGEXP = /_seconds$/;

/** Returns the name of an option in the code. The name ends with the option's unit. */
export function codeName(key: string, schema: z.core.$ZodType): string {
  const unit = SECONDS_REGEXP.test(key) ? "Ms" : metaOf(schema, "unit") ?? "";
  const camel = key.replace(SECONDS_REGEXP, "")
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return `${camel}${unit}`;
}

/**
 * Renames the fields of a mapping in the file, see {@linkcode Renamed}. Seconds become milliseconds. Nested fields keep
 * their names. A field without a value is `undefined`.
 */
export function renamed<Fields extends object>(
  schema: z.ZodType<Fields | undefined>,
  fields: Fields,
): Renamed<Fields>;
export function renamed(schema: z.ZodType, fields: object): object {
  const mapping = unwrap(schema);
  const shape = mapping instanceof z.ZodObject ? mapping.shape : {};
  const values = new Map<string, unknown>(Object.entries(fields));
  return Object.fromEntries(
    Object.entries(shape).map(([key, option]) => {
      const value = values.get(key);
      const isSeconds = SECONDS_REGEXP.test(key) && typeof value === "number";
      return [codeName(key, option), isSeconds ? value * 1000 : value];
    }),
  );
}
