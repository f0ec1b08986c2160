import type { IdentityProvider } from "./config.ts";

/**
 * Returns the name of a caller of an identity provider. The result ends with the issuer, so that no caller of another
 * issuer and no entry of `tokens` has the same name. An issuer has no space, so the result names one issuer only.
 */
export function identityCallerName(name: string, issuer: string): string {
  return `${name} (${issuer})`;
}

/** Returns true when a name belongs to a caller of one of the configuration's identity providers. */
export function isIdentityCaller(
  name: string,
  identity: readonly Pick<IdentityProvider, "issuer">[],
): boolean {
  return identity.some(({ issuer }) => name.endsWith(` (${issuer})`));
}
