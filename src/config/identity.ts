import { z } from "zod";
import { parseLightJson } from "../core/json.ts";
import type { Config, PublicKey } from "./config.ts";

/** A key for signatures of an asymmetric algorithm: RSA, elliptic curve, or Edwards curve. */
const keySchema = z.looseObject({
  kty: z.enum(["RSA", "EC", "OKP"]),
  kid: z.exactOptional(z.string()),
  alg: z.exactOptional(z.string()),
  use: z.exactOptional(z.literal("sig")),
});

const keySetSchema = z.looseObject({ keys: z.array(z.unknown()) });

/**
 * Parses a JSON Web Key Set (RFC 7517, section 5). As the RFC demands, it ignores keys that it cannot use: symmetric
 * ones, and keys for encryption.
 *
 * @returns The keys for signatures, perhaps none; `undefined` when the text is not a key set.
 */
export function parseKeySet(text: string): readonly PublicKey[] | undefined {
  const set = keySetSchema.safeParse(parseLightJson(text)).data;
  return set?.keys.flatMap((key) => keySchema.safeParse(key).data ?? []);
}

/**
 * Returns the name of a caller of an identity provider. It ends with the issuer, so that no other issuer and no entry
 * of `tokens` has the same. An issuer has no space, so each name has one issuer.
 */
export function identityCallerName(name: string, issuer: string): string {
  return `${name} (${issuer})`;
}

/** Returns true when a name is that of a caller of an identity provider of the configuration. */
export function isIdentityCaller(
  name: string,
  identity: readonly Pick<Config["identity"][number], "issuer">[],
): boolean {
  return identity.some(({ issuer }) => name.endsWith(` (${issuer})`));
}
