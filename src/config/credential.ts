import type { UpstreamAuth } from "./config.ts";

/**
 * Returns the header that holds the credential of a connection; `undefined` when it has none, or when its exchange gives
 * no token now.
 */
export function credentialHeader(
  auth: UpstreamAuth,
): [name: string, value: string] | undefined {
  if (auth.scheme === "none" || auth.key === "") return undefined;
  return auth.scheme === "bearer"
    ? ["authorization", `Bearer ${auth.key}`]
    : [auth.scheme, auth.key];
}
