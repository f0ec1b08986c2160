import { z } from "zod";

const CONTROL_REGEXP = /[\p{Cc}\u2028\u2029]/u;

/** Texts longer than this are no name. */
const MAX_NAME_LENGTH = 256;

/**
 * A whole number in a closed range. Digits in a text count as one, because `${PORT}` is a text.
 *
 * @param range Both ends belong to it.
 */
export function wholeNumber(
  range: { readonly min: number; readonly max: number },
): z.ZodType<number> {
  const fromText = (value: unknown) =>
    typeof value === "string" && /^\d{1,15}$/.test(value)
      ? Number(value)
      : value;
  return z.preprocess(
    fromText,
    z.number().min(range.min).max(range.max).refine(Number.isInteger, {
      error: "must be a whole number",
    }),
  );
}

/** A truth value; the texts `true` and `false` count, because `${ENABLED}` is a text. */
export function flag(): z.ZodType<boolean> {
  const fromText = (value: unknown) =>
    value === "true" ? true : value === "false" ? false : value;
  return z.preprocess(fromText, z.boolean());
}

/** A text that may be anything but empty. */
export function text(): z.ZodType<string> {
  return z.string().min(1);
}

/** A text that people and programs refer to: one line, nothing invisible around it, and not `*`. */
export function name(): z.ZodType<string> {
  return z.string().min(1).max(MAX_NAME_LENGTH)
    .refine((value) => !CONTROL_REGEXP.test(value), {
      error: "must not hold control characters",
    })
    .refine((value) => value === value.trim(), {
      error: "must not begin or end with a space",
    })
    .refine((value) => value !== "*", {
      error: "must not be *, which stands for every name",
    });
}

/** A time a connection or a request may take, in milliseconds; 0 means no deadline. */
export function milliseconds(): z.ZodType<number> {
  return wholeNumber({ min: 0, max: 86_400_000 });
}

/** How many requests may run at once. */
export function concurrency(): z.ZodType<number> {
  return wholeNumber({ min: 1, max: 1_000_000 });
}
