import { z } from "zod";
import { parseLightJson } from "@gateway/base/json";

/** A key for signatures of an asymmetric algorithm: RSA, elliptic curve, or Edwards curve. */
const keySchema = z.looseObject({
  kty: z.enum(["RSA", "EC", "OKP"]),
  kid: z.exactOptional(z.string()),
  alg: z.exactOptional(z.string()),
  use: z.exactOptional(z.literal("sig")),
});

/** A JSON Web Key (RFC 7517) for signatures. */
export type PublicKey = Readonly<z.output<typeof keySchema>>;

const keySetSchema = z.looseObject({ keys: z.array(z.unknown()) });

/**
 * Parses a JSON Web Key Set (RFC 7517, section 5). As the RFC demands, ignores unusable keys: symmetric keys, and keys
 * for encryption.
 *
 * @returns The keys for signatures, perhaps an empty list; `undefined` when the text is not a key set.
 */
export function parseKeySet(text: string): readonly PublicKey[] | undefined {
  const set = keySetSchema.safeParse(parseLightJson(text)).data;
  return set?.keys.flatMap((key) => keySchema.safeParse(key).data ?? []);
}

const discoverySchema = z.looseObject({
  issuer: z.string(),
  jwks_uri: z.string(),
  token_endpoint: z.string().optional(),
  device_authorization_endpoint: z.string().optional(),
});

/**
 * Parses a document of OpenID Connect Discovery 1.0, section 3.
 *
 * @returns `undefined` when the text is not such a document.
 */
export function parseDiscovery(
  text: string,
): z.output<typeof discoverySchema> | undefined {
  return discoverySchema.safeParse(parseLightJson(text)).data;
}
