import { z } from "zod";
import { ENDPOINTS } from "@gateway/base/protocol";
import { QuotaFailure, unreadable } from "../failure.ts";
import type { QuotaRequest, QuotaSource } from "./reader.ts";

const NUMBER_REGEXP = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** The largest amount that is accepted. No provider reports more, and larger sums would be inexact. */
const finite = z.number().min(-1e18).max(1e18);

const given = z.union([
  finite,
  z.string().regex(NUMBER_REGEXP).transform(Number).pipe(finite),
]);

/** A number as providers send it. It may also be a text (Kimi, DeepSeek, MiniMax …), absent, null or empty. */
export const numeric = z.union([
  given,
  z.literal("").transform(() => null),
]).nullish();

/** A required number. */
export const quantity = given;

/** A text, absent or null. */
export const text = z.string().nullish();

/** A boolean, absent or null. */
export const flag = z.boolean().nullish();

/**
 * Validates a response body with `schema`. Unknown fields are ignored.
 *
 * @throws QuotaFailure `broken`, with the path of the first mismatch.
 */
export function checkPayload<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw unreadable(
    "broken",
    `the provider's response has an unknown form at ${
      placeOf(result.error.issues[0]?.path ?? [])
    }.`,
  );
}

/** Formats a path. Shows only keys that are plain words, because a key in the provider's response may be any text. */
function placeOf(path: readonly PropertyKey[]): string {
  const words = path.map(String).map((part) =>
    /^\w{1,40}$/.test(part) ? part : "*"
  );
  return words.length === 0 ? "its top" : words.join(".");
}

/** Returns the failure of an error body without a known reason. */
export function errorBody(): QuotaFailure {
  return unreadable("server", "the provider responded with an error.");
}

/** Returns the failure of a body that rejects the key. */
export function keyRejected(advice = ""): QuotaFailure {
  return unreadable(
    "authentication",
    `the provider rejects the connection's key.${advice}`,
  );
}

/**
 * Requires at least one window. If a valid key has no windows, the use of the quota is unknown, not 0 %.
 *
 * @throws QuotaFailure `server` when `windows` is empty.
 */
export function requireWindows<Window>(windows: Window[]): Window[] {
  if (windows.length > 0) return windows;
  throw unreadable("server", "the provider reports no windows for this key.");
}

/**
 * Returns the first base URL of the connection. Every quota address is built from this URL, so that a key for one host
 * never reaches another host.
 *
 * @throws QuotaFailure `misconfigured` when the connection has no base URL.
 */
export function baseUrl({ connection }: QuotaSource): string {
  for (const endpoint of ENDPOINTS) {
    const base = connection.endpoints[endpoint];
    if (base !== undefined) return base;
  }
  throw unreadable(
    "misconfigured",
    "the connection has no endpoint that could report the quota. Set quota.url.",
  );
}

/**
 * Returns the address of a quota endpoint at a fixed path of the host: `quota.url` if it is set, or `path` on the
 * connection's host.
 *
 * @throws QuotaFailure `misconfigured` when there is neither `quota.url` nor a base URL.
 */
export function hostUrl(source: QuotaSource, path: string): string {
  return source.quota.url ?? new URL(path, baseUrl(source)).href;
}

/**
 * Returns the address of a quota endpoint below the connection's base URL: `quota.url` if it is set, or the base URL
 * without a trailing `/v1`, and `path`.
 *
 * @throws QuotaFailure `misconfigured` when there is neither `quota.url` nor a base URL.
 */
export function rootUrl(source: QuotaSource, path: string): string {
  return source.quota.url ?? baseUrl(source).replace(/\/v1$/, "") + path;
}

/** Returns the function that requests a fixed path of the host, see {@linkcode hostUrl}. */
export function hostRequest(
  path: string,
): (source: QuotaSource) => readonly QuotaRequest[] {
  return (source) => [
    { url: hostUrl(source, path), headers: bearerHeaders(source) },
  ];
}

/** Returns `url` with `name` set in its query. */
export function withQuery(url: string, name: string, value: string): string {
  const address = new URL(url);
  address.searchParams.set(name, value);
  return address.href;
}

/**
 * Returns the credential of quota requests: `quota.key`, or the connection's own key.
 *
 * @throws QuotaFailure `misconfigured` when there is no credential.
 */
export function credential({ connection, quota }: QuotaSource): string {
  if (quota.key !== undefined) return quota.key;
  const { auth } = connection;
  if (auth.scheme !== "none" && auth.key !== "") return auth.key;
  throw unreadable(
    "misconfigured",
    "the connection has no key. Set auth or quota.key.",
  );
}

/** Returns headers that accept JSON and send the credential as a bearer token. */
export function bearerHeaders(source: QuotaSource): Record<string, string> {
  return {
    accept: "application/json",
    authorization: `Bearer ${credential(source)}`,
  };
}

/**
 * Returns the currency of a service that has a host for each currency. Responses do not contain the currency.
 *
 * @param currencies The currencies by host name.
 * @returns `currency` when `url` is on none of the service's own hosts.
 */
export function currencyOf(
  url: string,
  currencies: ReadonlyMap<string, string>,
): string {
  return currencies.get(new URL(url).hostname) ?? "currency";
}
