import type { Caller, Config } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import type { HeaderFields } from "../../core/header_fields.ts";
import { sha256Hex } from "../../core/sha256.ts";

/**
 * Which credential a route takes (docs/design.md#credentials): `bearer` is `Authorization` alone,
 * `messages` adds `x-api-key` and asks for the version header, `either` takes both without a version.
 */
export type CredentialGroup = "bearer" | "messages" | "either";

/** What deciding about a caller needs beside the headers. */
interface AuthenticateOptions {
  readonly group: CredentialGroup;
  readonly config: Config;
  /** Milliseconds since 1970, for tokens that expire. */
  readonly nowMs: number;
}

/**
 * Finds out who is calling. Tokens are looked up by their SHA-256, so neither the time that takes nor what is
 * kept in memory tells anything about a token.
 *
 * @throws {GatewayError} `unauthenticated` for no credential, an unknown or expired one, or two of different
 * callers; one wording for all that could tell a stranger something. `invalid_request` when a Messages
 * route's version header is missing or no date.
 */
export function authenticate(
  headers: HeaderFields,
  options: AuthenticateOptions,
): Caller {
  const { group, config } = options;
  const bearer = bearerIn(headers);
  const apiKey = group === "bearer" ? undefined : headers.get("x-api-key");
  if (!bearer && !apiKey) throw noCredential(group);
  const named = callerOf(bearer, options);
  const other = apiKey === bearer ? named : callerOf(apiKey, options);
  const caller = named ?? other;
  if (caller === undefined) throw badCredential();
  if (other !== undefined && other !== caller) throw badCredential();
  if (group === "messages") checkVersion(headers, config.messagesVendor);
  return caller;
}

/** Repeated headers arrive joined by commas and therefore match no token. */
function bearerIn(headers: HeaderFields): string | undefined {
  const value = headers.get("authorization") ?? "";
  return BEARER_REGEXP.exec(value)?.[1];
}

function callerOf(
  credential: string | null | undefined,
  { config, nowMs }: AuthenticateOptions,
): Caller | undefined {
  if (!credential) return undefined;
  const caller = config.callers.get(sha256Hex(credential));
  return caller === undefined || isExpired(caller, nowMs) ? undefined : caller;
}

const BEARER_REGEXP = /^bearer +(\S.*)$/i;

function isExpired({ expiresAtMs }: Caller, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs;
}

/** Any date will do: the upstream decides which versions it speaks. */
function checkVersion(headers: HeaderFields, vendor: string): void {
  const name = `${vendor}-version`;
  const value = headers.get(name) ?? undefined;
  if (value !== undefined && isDate(value)) return;
  throw new GatewayError(
    "invalid_request",
    value === undefined
      ? `Cannot tell the protocol version: the header ${name} is missing, send ${name}: 2023-06-01`
      : `Cannot read the header ${name}: it is no date, send ${name}: 2023-06-01`,
    { param: name },
  );
}

/** A day that the calendar has: `Date` takes 30 February for 2 March. */
function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const ms = Date.parse(value);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value);
}

const CHALLENGE = { "www-authenticate": "Bearer" };

function noCredential(group: CredentialGroup): GatewayError {
  const expected = group === "bearer"
    ? "Authorization: Bearer"
    : "x-api-key or Authorization: Bearer";
  return new GatewayError(
    "unauthenticated",
    `Cannot tell who is calling: send your token as ${expected}`,
    { headers: CHALLENGE },
  );
}

function badCredential(): GatewayError {
  return new GatewayError(
    "unauthenticated",
    "Cannot accept this token: it is unknown or expired, ask the administrator for a new one",
    { code: "invalid_api_key", headers: CHALLENGE },
  );
}
