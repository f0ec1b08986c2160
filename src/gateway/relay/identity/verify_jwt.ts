import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
} from "jose";
import type { IdentityProvider, PublicKey } from "../../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import { BadJwt, type Claims, ExpiredJwt } from "./jwt.ts";
import type { KeySets } from "./key_sets.ts";

/** The longest JWT that is accepted, in characters. A JWT with 200 groups of Entra ID has about 10,000 characters. */
const MAX_LENGTH = 16_384;

/** The asymmetric algorithms of RFC 7518, RFC 8037 and RFC 9864. `none` and HS256 are not among them. */
const ALGORITHMS: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** The accepted difference between two clocks, in seconds. */
const LEEWAY_SECONDS = 60;

/** The dependencies of {@linkcode verifyJwt}. */
interface VerifyOptions {
  readonly providers: readonly IdentityProvider[];
  readonly keySets: KeySets;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** A verified JWT: issued by a provider for this gateway, and valid now. */
interface VerifiedJwt {
  readonly provider: IdentityProvider;
  readonly claims: Claims;
  /** The end of the leeway after the JWT's expiry, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/**
 * Verifies a JWT: its issuer, algorithm, signature, audience and times.
 *
 * @throws {BadJwt} When the JWT is not accepted.
 * @throws {NoKeys} When the keys of the issuer cannot be read.
 */
export async function verifyJwt(
  token: string,
  options: VerifyOptions,
): Promise<VerifiedJwt> {
  if (token.length > MAX_LENGTH) throw new BadJwt("it is too long");
  const provider = issuerOf(token, options.providers);
  try {
    const claims = await verifySignature(token, provider, options);
    return { provider, claims, endsAtMs: endOf(claims, options.nowMs) };
  } catch (error) {
    throw reasonOf(error);
  }
}

/** Returns the provider that an unverified JWT names as its issuer. */
function issuerOf(
  token: string,
  providers: readonly IdentityProvider[],
): IdentityProvider {
  const { alg, iss } = unverified(token);
  if (typeof alg !== "string" || !ALGORITHMS.includes(alg)) {
    throw new BadJwt("its algorithm is not asymmetric");
  }
  const provider = providers.find(({ issuer }) => issuer === iss);
  if (provider === undefined) {
    throw new BadJwt("its issuer is not in the configuration");
  }
  return provider;
}

function unverified(
  token: string,
): { readonly alg: unknown; readonly iss: unknown } {
  try {
    const { alg } = decodeProtectedHeader(token);
    return { alg, iss: decodeJwt(token).iss };
  } catch {
    throw new BadJwt("it is malformed");
  }
}

/** Verifies a JWT's signature. If its key is unknown, reads the issuer's keys again, because the key may be new. */
async function verifySignature(
  token: string,
  { issuer, audiences, keys }: IdentityProvider,
  { keySets, nowMs }: VerifyOptions,
): Promise<Claims> {
  const verifyWith = async (set: AnyKeySet): Promise<Claims> => {
    const { payload } = await jwtVerify(token, finderOf(set), {
      issuer,
      audience: [...audiences],
      algorithms: [...ALGORITHMS],
      clockTolerance: LEEWAY_SECONDS,
      requiredClaims: ["exp"],
      currentDate: new Date(nowMs),
    });
    return payload;
  };
  if (keys.kind === "file") return await verifyWith(keys);
  const source = { issuer, keys };
  const set = await keySets.of(source);
  try {
    return await verifyWith(set);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    const renewed = await keySets.renewed(source, set);
    if (renewed === undefined) throw error;
    return await verifyWith(renewed);
  }
}

/** The keys of an issuer, from a URL or a file. */
interface AnyKeySet {
  readonly keys: readonly PublicKey[];
}

/** Returns a function that finds the key of a JWT. The function keeps imported keys, because importing is expensive. */
const finderOf = oncePer((set: AnyKeySet) =>
  createLocalJWKSet({ keys: [...set.keys] })
);

/** Returns when a JWT ends, leeway included. Rejects a JWT that was issued in the future, because `jose` does not. */
function endOf({ iat, exp = 0 }: Claims, nowMs: number): number {
  if (iat !== undefined && iat > nowMs / 1000 + LEEWAY_SECONDS) {
    throw new BadJwt("it was issued in the future");
  }
  return (exp + LEEWAY_SECONDS) * 1000;
}

/** Converts an error of `jose`, or of an unusable key, to a {@linkcode BadJwt}. Returns other errors unchanged. */
function reasonOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new ExpiredJwt();
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new BadJwt(REASON_BY_CLAIM[error.claim] ?? "its claims are invalid");
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return new BadJwt("its issuer has no such key");
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return new BadJwt("it does not name its key, and its issuer has several");
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return new BadJwt("its signature is wrong");
  }
  if (error instanceof errors.JOSEError) return new BadJwt("it is malformed");
  return isUnusableKey(error)
    ? new BadJwt("the key of its issuer is unusable")
    : error;
}

const REASON_BY_CLAIM: Readonly<Record<string, string>> = {
  aud: "it is for another audience",
  exp: "it has no valid expiry",
  nbf: "it is not valid yet",
  iat: "its time of issue is invalid",
};

/** Returns true for the errors of Web Crypto and `jose` about a key that is too short or malformed. */
function isUnusableKey(error: unknown): boolean {
  return error instanceof TypeError || error instanceof DOMException;
}
