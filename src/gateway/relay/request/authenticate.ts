import type { Caller, Config } from "../../config/config.ts";
import { GatewayError } from "@gateway/base/error";
import type { HeaderFields } from "@gateway/base/header_fields";
import { memoized } from "@gateway/base/memo";
import { sha256Hex } from "@gateway/base/sha256";
import type { Identity } from "../identity/identity.ts";
import { isJwt } from "../identity/jwt.ts";

/**
 * The credential that a route accepts (docs/design.md#credentials). `bearer` accepts `Authorization` alone. `messages`
 * and `either` also accept `x-api-key`; `messages` requires the version header, too.
 */
export type CredentialGroup = "bearer" | "messages" | "either";

interface AuthenticateOptions {
  readonly group: CredentialGroup;
  readonly config: Config;
  /** Recognizes the callers of the configuration's identity providers. */
  readonly identity: Pick<Identity, "callerOf">;
  /** Milliseconds since 1970, for tokens that expire. */
  readonly nowMs: number;
}

/**
 * Returns the caller of a request. Tokens are looked up by their SHA-256, so that the gateway's timing and memory
 * reveal no token.
 *
 * @throws {GatewayError} `unauthenticated` when there is no credential, a credential is unknown or expired, or two
 * credentials belong to different callers. All wrong credentials get the same message, so the message reveals nothing
 * to an attacker. `invalid_request` when the version header of a Messages route is missing or not a date. For a JWT,
 * also the errors of {@linkcode Identity}.
 */
export async function authenticate(
  headers: HeaderFields,
  options: AuthenticateOptions,
): Promise<Caller> {
  const { group, config } = options;
  const bearer = bearerIn(headers);
  const apiKey = group === "bearer" ? undefined : headers.get("x-api-key");
  if (!bearer && !apiKey) throw noCredential(group);
  const named = callerOf(bearer, options);
  const other = apiKey === bearer ? undefined : callerOf(apiKey, options);
  const caller = isCaller(named) && other === undefined
    ? named
    : oneOf(await settle([named, other]));
  if (group === "messages") checkVersion(headers, config.messagesVendor);
  return caller;
}

function isCaller(
  found: Caller | Promise<Caller> | undefined,
): found is Caller {
  return found !== undefined && !(found instanceof Promise);
}

/**
 * Returns the caller to whom all known credentials belong. In `callers`, `undefined` stands for an unknown credential.
 */
function oneOf(callers: readonly (Caller | undefined)[]): Caller {
  const [caller, other] = callers.filter((one) => one !== undefined);
  if (caller === undefined) throw badCredential();
  if (other !== undefined && other.sha256 !== caller.sha256) {
    throw badCredential();
  }
  return caller;
}

/**
 * Waits for the callers of both credentials.
 *
 * @throws The error with the highest status, when neither credential has a caller. Only after such an error can a retry
 * succeed.
 */
async function settle(
  both: readonly (Caller | Promise<Caller> | undefined)[],
): Promise<readonly (Caller | undefined)[]> {
  const settled = await Promise.allSettled(both);
  const callers = settled.map((one) =>
    one.status === "fulfilled" ? one.value : undefined
  );
  if (callers.some((caller) => caller !== undefined)) return callers;
  const [error] = settled
    .flatMap((one) => one.status === "rejected" ? [toError(one.reason)] : [])
    .sort((one, next) => statusOf(next) - statusOf(one));
  throw error ?? badCredential();
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** Returns the error's status. An unforeseen error counts as the highest. */
function statusOf(error: Error): number {
  return error instanceof GatewayError ? error.status : Infinity;
}

/** Returns the bearer token. Repeated headers are joined by commas, so they match no token. */
function bearerIn(headers: HeaderFields): string | undefined {
  const value = headers.get("authorization") ?? "";
  return BEARER_REGEXP.exec(value)?.[1];
}

/** Returns the SHA-256 of each credential that a request may have sent as its token. */
export function digestsIn(headers: HeaderFields): readonly string[] {
  const sent = [bearerIn(headers), headers.get("x-api-key")];
  return sent.flatMap((one) => one ? [sha256Hex(one)] : []);
}

function callerOf(
  credential: string | null | undefined,
  { config, identity, nowMs }: AuthenticateOptions,
): Caller | Promise<Caller> | undefined {
  if (!credential) return undefined;
  const caller = config.callers.get(sha256Hex(credential));
  if (caller !== undefined) {
    return isExpired(caller, nowMs) ? undefined : caller;
  }
  return config.identity.length > 0 && isJwt(credential)
    ? identity.callerOf(credential, config)
    : undefined;
}

const BEARER_REGEXP = /^bearer +(\S.*)$/i;

function isExpired({ expiresAtMs }: Caller, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs;
}

/** Checks that the version is a date. The upstream decides which versions it accepts. */
function checkVersion(headers: HeaderFields, vendor: string): void {
  const name = `${vendor}-version`;
  const value = headers.get(name) ?? undefined;
  if (value !== undefined && isDate(value)) return;
  throw new GatewayError(
    "invalid_request",
    value === undefined
      ? `Cannot read the protocol version: the header ${name} is missing. Send ${name}: 2023-06-01.`
      : `Cannot read the header ${name}: it is not a date. Send ${name}: 2023-06-01.`,
    { param: name },
  );
}

function isDate(value: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(value) && isDay(value);
}

/** Returns true for a day of the calendar. `Date` alone reads 30 February as 2 March. Requests repeat a few dates. */
const isDay = memoized((date) => {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}, 100);

/** The header of every 401. */
export const CHALLENGE = { "www-authenticate": "Bearer" };

function noCredential(group: CredentialGroup): GatewayError {
  const expected = group === "bearer"
    ? "Authorization: Bearer"
    : "x-api-key or Authorization: Bearer";
  return new GatewayError(
    "unauthenticated",
    `Cannot authenticate the request: its token is missing. Send your token as ${expected}.`,
    { headers: CHALLENGE },
  );
}

function badCredential(): GatewayError {
  return new GatewayError(
    "unauthenticated",
    "Cannot accept this token: it is unknown or expired. Ask the administrator for a new one.",
    { code: "invalid_api_key", headers: CHALLENGE },
  );
}
