import { z } from "zod";
import { isPlainName } from "@gateway/base/caller_names";
import type { Quantity, Unit } from "./renamed.ts";

const CONTROL_REGEXP = /[\p{Cc}\u2028\u2029]/u;

/** The longest name, in characters. */
const MAX_NAME_LENGTH = 256;

const DIGITS_ALONE = "without a unit or separators";

/**
 * A whole number in a closed range. A text of digits is accepted, because `${PORT}` is a text.
 *
 * @param range Includes both ends.
 * @param wanted The number in words, with an example.
 */
export function wholeNumber(
  range: { readonly min: number; readonly max: number },
  wanted = "a whole number, such as 5000",
): z.ZodType<number> {
  const fromText = (value: unknown) =>
    typeof value === "string" && /^\d{1,15}$/.test(value)
      ? Number(value)
      : value;
  return z.preprocess(
    fromText,
    z.number({ error: `must be ${wanted}, ${DIGITS_ALONE}.` }).min(range.min)
      .max(range.max).refine(Number.isInteger, {
        error: "must be a whole number.",
      }),
  ).meta({
    type: "integer",
    ...alsoWritten({ type: "string", pattern: "^\\d{1,15}$" }),
  });
}

/**
 * A number in a closed range, with or without decimals. A text is accepted, because `${BUDGET}` is a text.
 *
 * @param range Includes both ends.
 */
export function decimal(
  { min, max }: { readonly min: number; readonly max: number },
): z.ZodType<number> {
  const fromText = (value: unknown) =>
    typeof value === "string" && DECIMAL_REGEXP.test(value)
      ? Number(value)
      : value;
  return z.preprocess(
    fromText,
    z.custom<number>(
      (value) => typeof value === "number" && value >= min && value <= max,
      {
        error:
          `must be a number from ${min} to ${max}, such as 0.5, ${DIGITS_ALONE}.`,
      },
    ),
  ).meta({
    type: "number",
    minimum: min,
    maximum: max,
    ...alsoWritten({ type: "string", pattern: DECIMAL_REGEXP.source }),
  });
}

const DECIMAL_REGEXP = /^\d{1,15}(\.\d{1,15})?$/;

/** A boolean. The texts `true` and `false` are accepted, because `${ENABLED}` is a text. */
export function flag(): z.ZodType<boolean> {
  const fromText = (value: unknown) =>
    value === "true" ? true : value === "false" ? false : value;
  return z.preprocess(fromText, z.boolean())
    .meta(alsoWritten({ enum: ["true", "false"] }));
}

/**
 * A mapping, or only the text of its `id`. A number in place of the mapping also becomes the `id`, so that the message
 * about the number asks for text.
 */
export function orBareId<Output>(
  mapping: z.ZodType<Output>,
): z.ZodType<Output> {
  return z.preprocess(
    (value) => typeof value === "object" ? value : { id: value },
    mapping,
  ).meta(alsoWritten({ type: "string", minLength: 1 }));
}

/** A text that is not empty. */
export function text(): z.ZodType<string> {
  return z.string().min(1);
}

/** A name for people and programs: one line, without outer white space, and not `*`. */
export function name(): z.ZodType<string> {
  return z.string().min(1).max(MAX_NAME_LENGTH)
    .refine((value) => !CONTROL_REGEXP.test(value), {
      error: "must not hold control characters.",
      abort: true,
    })
    .refine((value) => value === value.trim(), {
      error: "must not begin or end with a space.",
      abort: true,
    })
    .refine((value) => value !== "*", {
      error: "must not be *, which means every name.",
    });
}

/** One part of a host name (RFC 1123). */
export const LABEL_REGEXP = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** A region of connections, in lower case. A region may be a part of addresses. */
export function region(): z.ZodType<string> {
  return z.string().regex(LABEL_REGEXP, {
    error:
      "must have only letters, digits and inner hyphens, such as eu-central-1.",
  }).toLowerCase();
}

/** The name of a caller or of a group of callers, without characters that do not show. */
export function callerName(): z.ZodType<string> {
  return name().refine(isPlainName, {
    error: "must not hold invisible characters, or unusual spaces.",
  });
}

/** The schema of a number in a unit. */
type Measured<In extends Unit> = z.core.$ZodBranded<z.ZodType<number>, In>;

/** A duration in milliseconds. */
export function milliseconds(
  range: { readonly min: number; readonly max: number } = DEADLINE_RANGE,
): Measured<"Ms"> {
  const wanted = "a whole number of milliseconds, such as 10000";
  return wholeNumber(range, wanted).meta(inUnit("Ms")).brand<"Ms">();
}

/** The range of a deadline, in milliseconds. 0 means no deadline. */
const DEADLINE_RANGE = { min: 0, max: 86_400_000 };

/** The longest wait for a turn, in milliseconds. Clients give up soon after this time. */
const MAX_QUEUE_WAIT_MS = 600_000;

/** `queue`: the wait of requests for a connection without room. */
export function queueField(): z.ZodOptional<
  z.ZodType<{ readonly max_wait: Quantity<"Ms"> }>
> {
  return z.strictObject({
    max_wait: milliseconds({ min: 1_000, max: MAX_QUEUE_WAIT_MS })
      .prefault(60_000)
      .describe("The longest wait of a request, in milliseconds."),
  }).optional();
}

const BYTES_BY_UNIT = {
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
} as const satisfies Readonly<Record<string, number>>;

/**
 * An amount of memory: a number of bytes, or a text such as `512MiB` or `1GiB`.
 *
 * @param leastMib The least amount, in MiB.
 */
export function byteSize(
  { leastMib }: { readonly leastMib: number },
): Measured<"Bytes"> {
  const least = leastMib * BYTES_BY_UNIT.MiB;
  return z.preprocess(
    bytesOf,
    z.number().refine((bytes) => Number.isInteger(bytes) && bytes >= least, {
      error:
        `must be a number of bytes or a size such as 2GiB, at least ${leastMib}MiB.`,
    }),
  ).meta({
    type: "integer",
    minimum: least,
    ...alsoWritten({ type: "string", pattern: SIZE_REGEXP.source }),
    ...inUnit("Bytes"),
  }).brand<"Bytes">();
}

const SIZE_REGEXP = /^(\d{1,15}) ?(KiB|MiB|GiB)?$/;

/** Stands for an invalid text. Lies below every minimum, so that the text gets the message for too small a size. */
const NO_SIZE = -1;

function bytesOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const [, digits = "", unit] = SIZE_REGEXP.exec(value) ?? [];
  if (digits === "") return NO_SIZE;
  return Number(digits) * (isUnit(unit) ? BYTES_BY_UNIT[unit] : 1);
}

function isUnit(text: string | undefined): text is keyof typeof BYTES_BY_UNIT {
  return text !== undefined && Object.hasOwn(BYTES_BY_UNIT, text);
}

/** A number of tokens. */
export function tokens(): z.ZodType<number> {
  return wholeNumber({ min: 1, max: 100_000_000 });
}

/** A number of concurrent requests. */
export function concurrency(): z.ZodType<number> {
  return wholeNumber({ min: 1, max: 1_000_000 });
}

/** A JSON Schema. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns the `meta` of a number in a unit. */
function inUnit(unit: Unit): Readonly<Record<string, unknown>> {
  return { unit };
}

/**
 * Returns the `meta` of an option that may hold a secret. `check --print` shows only a part of the value.
 *
 * @param shown Returns the part of a text that is shown. Default: {@linkcode HIDDEN} in place of any text.
 */
export function secret(
  shown: (text: string) => string = () => HIDDEN,
): Readonly<Record<string, unknown>> {
  return { ...shownAs(shown), writeOnly: true };
}

/** Returns the `meta` of a long option that `check --print` shortens. */
export function shownAs(
  shown: (text: string) => string,
): Readonly<Record<string, unknown>> {
  return { secret: shown };
}

/** What `check --print` shows in place of a secret. */
export const HIDDEN = "hidden";

const ALSO_WRITTEN = "alsoWritten";

/**
 * Returns the `meta` with the shorthands that a file may use for a value. The schema converts a shorthand before
 * validation, so zod's own JSON Schema has only the converted form.
 */
export function alsoWritten(
  ...forms: readonly JsonSchema[]
): Readonly<Record<string, unknown>> {
  return { [ALSO_WRITTEN]: forms };
}

/**
 * Splits a schema from the shorthands that a file may use for it.
 *
 * @returns The schema alone, and the shorthands.
 */
export function takeForms(
  schema: JsonSchema,
): { readonly own: JsonSchema; readonly forms: readonly JsonSchema[] } {
  const { anyOf = [], [ALSO_WRITTEN]: written, ...own } = schema;
  return { own, forms: [...anyOf, ...isForms(written) ? written : []] };
}

function isForms(value: unknown): value is readonly JsonSchema[] {
  return Array.isArray(value);
}
