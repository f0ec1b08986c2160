import type { IdentityProvider } from "./config.ts";

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
  identity: readonly Pick<IdentityProvider, "issuer">[],
): boolean {
  return identity.some(({ issuer }) => name.endsWith(` (${issuer})`));
}
