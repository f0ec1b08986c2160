import type { Caller, Config } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { sha256Hex } from "../../core/sha256.ts";

/**
 * Which credential a route takes (docs/design.md#credentials): `bearer` is `Authorization` alone,
 * `messages` adds `x-api-key` and asks for the version header, `either` takes both without a version.
 */
export type CredentialGroup = "bearer" | "messages" | "either";

/** What deciding about a caller needs beside the headers. */
export interface AuthenticateOptions {
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
  headers: Headers,
  { group, config, nowMs }: AuthenticateOptions,
): Caller {
  const credentials = credentialsOf(headers, group);
  if (credentials.length === 0) throw noCredential(group);
  const callers = new Map<string, Caller>();
  for (const credential of credentials) {
    const caller = config.callers.get(sha256Hex(credential));
    if (caller !== undefined && !isExpired(caller, nowMs)) {
      callers.set(caller.sha256, caller);
    }
  }
  const [caller] = callers.values();
  if (caller === undefined || callers.size > 1) throw badCredential();
  if (group === "messages") checkVersion(headers, config.messagesVendor);
  return caller;
}

/**
 * The distinct credentials that the group allows. Repeated headers arrive joined by commas and therefore
 * match no token.
 */
function credentialsOf(
  headers: Headers,
  group: CredentialGroup,
): readonly string[] {
  const found = new Set<string>();
  const bearer = headers.get("authorization")?.match(BEARER_REGEXP)?.[1];
  if (bearer !== undefined) found.add(bearer);
  const apiKey = group === "bearer" ? null : headers.get("x-api-key");
  if (apiKey !== null && apiKey !== "") found.add(apiKey);
  return [...found];
}

const BEARER_REGEXP = /^bearer +(\S.*)$/i;

function isExpired({ expiresAtMs }: Caller, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs;
}

/** Any date will do: the upstream decides which versions it speaks. */
function checkVersion(headers: Headers, vendor: string): void {
  const name = `${vendor}-version`;
  const value = headers.get(name);
  if (value !== null && isDate(value)) return;
  throw new GatewayError(
    "invalid_request",
    value === null
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
