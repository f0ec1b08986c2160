import type { Caller, Config } from "../../config/config.ts";
import type { LiveConfig } from "../../config/live_config.ts";
import { GatewayError } from "@gateway/base/error";
import { oncePer } from "@gateway/base/memo";
import { retryAfterText } from "@gateway/base/retry_after";
import { sha256Hex } from "@gateway/base/sha256";
import type { Clock } from "@gateway/base/time/timers";
import { BadJwt, type Claims, ExpiredJwt } from "./jwt.ts";
import { FRESH_MS, type KeySets, NoKeys } from "./key_sets.ts";
import { callerOf, claimsLeftOut, nameIn, ruleFor } from "./rules.ts";

/** Recognizes callers by the tokens (JWT) of the company's identity providers. */
export interface Identity {
  /**
   * Returns the caller of a JWT.
   *
   * @throws {GatewayError} `unauthenticated` when the JWT is not accepted, `forbidden` when the JWT has no name or no
   * rule applies, `overloaded` with `Retry-After` while the keys of the JWT's issuer cannot be read.
   */
  callerOf(token: string, config: Config): Promise<Caller>;
  /** Returns a caller with the rights of the current configuration. If no rule applies now, returns it unchanged. */
  current(caller: Caller): Caller;
}

/** The dependencies of an {@linkcode Identity}. */
interface IdentityOptions {
  readonly liveConfig: LiveConfig;
  readonly clock: Clock;
  readonly keySets: KeySets;
}

/** The number of verified tokens that are remembered. */
const MAX_TOKENS = 10_000;

/** A verified token. */
interface Remembered {
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly endsAtMs: number;
  /** The time of the last verification on the monotonic clock, in milliseconds. */
  readonly verifiedAtMs: number;
}

/** Creates an identity that remembers no token yet. */
export function createIdentity(
  { liveConfig, clock, keySets }: IdentityOptions,
): Identity {
  // A new configuration begins without remembered tokens, because it may trust fewer tokens.
  const tokensOf = oncePer((_config: Config) => new Map<string, Remembered>());
  const sourceOf = new WeakMap<Caller, Source>();
  liveConfig.onSwap(({ identity }) => keySets.retain(identity));

  async function verify(token: string, config: Config): Promise<Remembered> {
    // The import is late, because only a gateway with identity providers needs the library.
    const { verifyJwt } = await import("./verify_jwt.ts");
    const { provider, claims, endsAtMs } = await verifyJwt(token, {
      providers: config.identity,
      keySets,
      nowMs: clock.now(),
    });
    const name = nameIn(claims, provider);
    if (name === undefined) throw new NoAccess("the JWT has no usable name");
    const rule = ruleFor(claims, provider.rules);
    if (rule === undefined) {
      const leftOut = claimsLeftOut(claims, provider.rules);
      const because = leftOut.length === 0
        ? ""
        : `; its issuer left out ${leftOut.join(", ")}: too many values`;
      throw new NoAccess(`no rule applies to ${name}${because}`);
    }
    const caller = callerOf(rule, name);
    sourceOf.set(caller, { issuer: provider.issuer, claims });
    return { caller, endsAtMs, verifiedAtMs: clock.elapsedMs() };
  }

  /**
   * Verifies a token again when its last verification is an hour old, because the issuer may have withdrawn the token's
   * key. While the issuer's keys cannot be read, the token stays valid.
   */
  async function verifyAgain(
    token: string,
    config: Config,
    { caller, endsAtMs }: Remembered,
  ): Promise<Remembered> {
    try {
      return await verify(token, config);
    } catch (error) {
      if (!(error instanceof NoKeys)) throw error;
      return { caller, endsAtMs, verifiedAtMs: clock.elapsedMs() };
    }
  }

  return {
    async callerOf(token, config) {
      const tokens = tokensOf(config);
      const digest = sha256Hex(token);
      const remembered = tokens.get(digest);
      const known = remembered !== undefined &&
          clock.now() < remembered.endsAtMs
        ? remembered
        : undefined;
      if (
        known !== undefined && clock.elapsedMs() - known.verifiedAtMs < FRESH_MS
      ) return known.caller;
      try {
        const found = known === undefined
          ? await verify(token, config)
          : await verifyAgain(token, config, known);
        tokens.delete(digest);
        const nowMs = clock.now();
        for (const [oldest, { endsAtMs }] of tokens) {
          if (tokens.size < MAX_TOKENS && nowMs < endsAtMs) break;
          tokens.delete(oldest);
        }
        tokens.set(digest, found);
        return found.caller;
      } catch (error) {
        tokens.delete(digest);
        throw shownError(error);
      }
    },
    current(caller) {
      const source = sourceOf.get(caller);
      if (source === undefined) return caller;
      const { issuer, claims } = source;
      const { identity } = liveConfig.current();
      const provider = identity.find((one) => one.issuer === issuer);
      const rule = provider && ruleFor(claims, provider.rules);
      return rule === undefined ? caller : callerOf(rule, caller.name);
    },
  };
}

/** The origin of a caller, for the rules of a later configuration. */
interface Source {
  readonly issuer: string;
  readonly claims: Claims;
}

/** A valid JWT that grants no access. */
class NoAccess extends Error {
  override readonly name = "NoAccess";
}

/** Converts an error to the error that the caller receives. Only the log has the reason. */
function shownError(error: unknown): unknown {
  if (error instanceof BadJwt) {
    const { reason } = error;
    const headers = { "www-authenticate": 'Bearer error="invalid_token"' };
    // After any 401, clients that get their token from a command run the command again. Resending a token never helps.
    return error instanceof ExpiredJwt
      ? new GatewayError(
        "unauthenticated",
        "Cannot accept this token: it has expired. Log in again for a new one.",
        { code: "token_expired", headers, reason },
      )
      : new GatewayError(
        "unauthenticated",
        "Cannot accept this token: this gateway does not trust it. Get another one, or ask the administrator.",
        { code: "invalid_api_key", headers, reason },
      );
  }
  if (error instanceof NoAccess) {
    return new GatewayError(
      "forbidden",
      "Cannot serve this caller: the token is valid, but gives access to nothing here. Ask the administrator for access.",
      { code: "no_access", reason: error.message },
    );
  }
  if (error instanceof NoKeys) {
    return new GatewayError(
      "overloaded",
      "Cannot verify this token: the keys of its identity provider cannot be read. Try again in a moment.",
      {
        code: "identity_unavailable",
        headers: { "retry-after": retryAfterText(error.retryAfterMs) },
      },
    );
  }
  return error;
}
