import { z } from "zod";
import { QuotaFailure } from "../failure.ts";

const NUMBER_REGEXP = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** Beyond this no provider means what it says, and sums would lose their value. */
const finite = z.number().min(-1e18).max(1e18);

const given = z.union([
  finite,
  z.string().regex(NUMBER_REGEXP).transform(Number).pipe(finite),
]);

/** A number as providers send it: also as text (Kimi, DeepSeek, MiniMax …), absent, null or empty. */
export const numeric = z.union([
  given,
  z.literal("").transform(() => null),
]).nullish();

/** A number without which an answer means nothing. */
export const quantity = given;

/** A text, absent or null. */
export const text = z.string().nullish();

/** A truth value, absent or null. */
export const flag = z.boolean().nullish();

/**
 * Checks an upstream's body against `schema`. Fields that the schema does not name are ignored.
 *
 * @throws QuotaFailure `broken`, with the place of the first misfit.
 */
export function checkPayload<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new QuotaFailure(
    "broken",
    `The provider's quota answer has an unknown form at ${
      placeOf(result.error.issues[0]?.path ?? [])
    }`,
  );
}

/** A key that came from the provider may hold anything, a plain word is none of its secrets. */
function placeOf(path: readonly PropertyKey[]): string {
  const words = path.map(String).map((part) =>
    /^\w{1,40}$/.test(part) ? part : "*"
  );
  return words.length === 0 ? "its top" : words.join(".");
}

/**
 * A provider that gives no windows for a good key tells nothing, which is not 0 %.
 *
 * @throws QuotaFailure `server` when `windows` is empty.
 */
export function requireWindows<Window>(windows: Window[]): Window[] {
  if (windows.length > 0) return windows;
  throw new QuotaFailure(
    "server",
    "The provider gives no quota windows for this key",
  );
}
