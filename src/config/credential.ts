import type { UpstreamAuth } from "./config.ts";

/** Returns the header that holds the credential of a connection, or `undefined` when it has none. */
export function credentialHeader(
  auth: UpstreamAuth,
): [name: string, value: string] | undefined {
  if (auth.scheme === "none") return undefined;
  return auth.scheme === "bearer"
    ? ["authorization", `Bearer ${auth.key}`]
    : [auth.scheme, auth.key];
}
