import {
  base64url,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from "jose";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../../src/gateway/config/live_config.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import {
  createIdentity,
  type Identity,
} from "../../../src/gateway/relay/identity/identity.ts";
import {
  createKeySets,
  type KeySets,
} from "../../../src/gateway/relay/identity/key_sets.ts";
import { createFakeClock, type FakeClock } from "../fakes/fake_clock.ts";
import { createFakeTimers } from "../fakes/fake_timers.ts";
import { createMemoryLog, type MemoryLog } from "../fakes/memory_log.ts";
import { minimalConfig, NOW_MS } from "./config.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The issuer of the scene. */
export const ISSUER = "https://login.example.com";

/** The URL of its keys. */
export const KEYS_URL = "https://login.example.com/keys";

/** The time of the scene's start, in seconds since 1970. */
export const NOW_SECONDS = NOW_MS / 1000;

/** The claims of a valid token of the scene. */
export const GOOD_CLAIMS: JWTPayload = {
  iss: ISSUER,
  aud: "model-gateway",
  sub: "u-1",
  email: "alice@example.com",
  groups: ["staff", "platform"],
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 3600,
};

/** A pair of keys that signs tokens. */
export interface Signer {
  readonly kid: string;
  /** The public key, as a key set has it. */
  readonly jwk: Fields;
  /** Signs claims; `header` replaces fields of the header. */
  sign(claims?: JWTPayload, header?: Fields): Promise<string>;
}

/** Creates a pair of keys. @param alg An asymmetric algorithm. */
export async function createSigner(kid = "k1", alg = "RS256"): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, {
    extractable: true,
  });
  return {
    kid,
    jwk: { ...await exportJWK(publicKey), kid, alg, use: "sig" },
    sign: (claims = GOOD_CLAIMS, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey),
  };
}

/** Returns a token with any header and claims, and an invalid signature. */
export function unsigned(
  header: unknown,
  claims: unknown = GOOD_CLAIMS,
  signature = "",
): string {
  const part = (value: unknown) => base64url.encode(JSON.stringify(value));
  return `${part(header)}.${part(claims)}.${signature}`;
}

/** Returns an entry of `identity`, with the keys at {@linkcode KEYS_URL} and a rule for everybody. */
export function identityFile(overrides: Fields = {}): Fields {
  return {
    issuer: ISSUER,
    audience: "model-gateway",
    jwks_url: KEYS_URL,
    rules: [{ connections: ["*"] }],
    ...overrides,
  };
}

/** Answers a request for a document. */
export type Serve = (url: string, signal: AbortSignal) => Promise<Response>;

/** Serves a key set of signers. */
export function keySetOf(...signers: readonly Signer[]): Serve {
  return () =>
    Promise.resolve(Response.json({ keys: signers.map(({ jwk }) => jwk) }));
}

/** An identity with one provider, its clock and its requests. */
export interface IdentityScene {
  readonly identity: Identity;
  readonly keySets: KeySets;
  readonly liveConfig: LiveConfig;
  readonly clock: FakeClock;
  readonly log: MemoryLog;
  /** The URLs of all requests, in order. */
  readonly requested: readonly string[];
  /** Replaces the answers to later requests. */
  serve(next: Serve): void;
  /** Advances the clock and the timers, in milliseconds. */
  advance(ms: number): void;
  /** Returns the name of a token's caller. */
  nameOf(token: string): Promise<string>;
  /** Returns the error that a token gets, with the reason for the log. */
  refusalOf(token: string): Promise<GatewayError>;
}

/**
 * Creates an identity with one provider, whose documents `serve` returns, and a clock that only the test moves.
 *
 * @param entry Overrides of the entry of `identity`.
 */
export async function identityScene(
  serve: Serve,
  entry: Fields = {},
): Promise<IdentityScene> {
  const config = await minimalConfig({ identity: [identityFile(entry)] });
  const liveConfig = createLiveConfig(config);
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const log = createMemoryLog();
  const requested: string[] = [];
  const state = { serve };
  const keySets = createKeySets({
    clock,
    deadlines: createDeadlines(timers),
    log,
    fetch(url, { signal }) {
      requested.push(url);
      return state.serve(url, signal ?? new AbortController().signal);
    },
  });
  const identity = createIdentity({ liveConfig, clock, keySets });
  const nameOf = async (token: string) =>
    (await identity.callerOf(token, liveConfig.current())).name;
  return {
    ...{ identity, keySets, liveConfig, clock, log, requested },
    serve: (next: Serve) => void (state.serve = next),
    advance(ms: number) {
      clock.advance(ms);
      timers.advance(ms);
    },
    nameOf,
    async refusalOf(token) {
      try {
        await nameOf(token);
      } catch (error) {
        if (error instanceof GatewayError) return error;
        throw error;
      }
      throw new Error("The token was accepted.");
    },
  };
}
