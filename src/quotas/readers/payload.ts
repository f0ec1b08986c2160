import { z } from "zod";
import { ENDPOINTS } from "../../core/protocol.ts";
import { QuotaFailure } from "../failure.ts";
import type { QuotaSource } from "./reader.ts";

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

/**
 * The first base URL of the connection. Quota addresses are built from it and from nothing else, so that
 * a key meant for one host never reaches another.
 *
 * @throws QuotaFailure `misconfigured` when the connection has none.
 */
export function baseUrl({ connection }: QuotaSource): string {
  for (const endpoint of ENDPOINTS) {
    const base = connection.endpoints[endpoint];
    if (base !== undefined) return base;
  }
  throw new QuotaFailure(
    "misconfigured",
    "The connection has no endpoint to read its quota from: set quota.url",
  );
}

/**
 * The address of a quota endpoint that stands at a fixed path of the host: `quota.url` if it is set,
 * else `path` on the connection's host.
 *
 * @throws QuotaFailure `misconfigured` when neither is known.
 */
export function hostUrl(source: QuotaSource, path: string): string {
  return source.quota.url ?? new URL(path, baseUrl(source)).href;
}

/**
 * The address of a quota endpoint that stands below the connection's base URL: `quota.url` if it is set,
 * else the base URL without a trailing `/v1`, and `path`.
 *
 * @throws QuotaFailure `misconfigured` when neither is known.
 */
export function rootUrl(source: QuotaSource, path: string): string {
  return source.quota.url ?? baseUrl(source).replace(/\/v1$/, "") + path;
}

/** `url` with `name` set in its query. */
export function withQuery(url: string, name: string, value: string): string {
  const address = new URL(url);
  address.searchParams.set(name, value);
  return address.href;
}

/**
 * The credential that quota calls carry: `quota.key`, else the connection's own.
 *
 * @throws QuotaFailure `misconfigured` when there is none.
 */
export function credential({ connection, quota }: QuotaSource): string {
  if (quota.key !== undefined) return quota.key;
  if (connection.auth.scheme !== "none") return connection.auth.key;
  throw new QuotaFailure(
    "misconfigured",
    "The connection has no key to read its quota with: set auth or quota.key",
  );
}

/** Headers that ask for JSON with the credential as a bearer token. */
export function bearerHeaders(source: QuotaSource): Record<string, string> {
  return {
    accept: "application/json",
    authorization: `Bearer ${credential(source)}`,
  };
}

/**
 * The currency of a service that has one host for each and says it nowhere else.
 *
 * @param currencies By host name.
 * @returns `currency` when `url` is at none of the service's own hosts.
 */
export function currencyOf(
  url: string,
  currencies: ReadonlyMap<string, string>,
): string {
  return currencies.get(new URL(url).hostname) ?? "currency";
}
