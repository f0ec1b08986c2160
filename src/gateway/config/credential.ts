import type { UpstreamAuth } from "./config.ts";

/**
 * Returns the header that holds the credential of a connection; `undefined` when the connection has no credential,
 * signs its requests, or has an exchange without a token now.
 */
export function credentialHeader(
  auth: UpstreamAuth,
): [name: string, value: string] | undefined {
  if (auth.scheme === "none" || auth.scheme === "aws" || auth.key === "") {
    return undefined;
  }
  return auth.scheme === "bearer"
    ? ["authorization", `Bearer ${auth.key}`]
    : [auth.scheme, auth.key];
}

/** Short-lived keys of AWS. */
interface AwsKeys {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** Returns the keys that sign the requests of a connection; `undefined` when the requests are not signed. */
export function awsKeysOf(auth: UpstreamAuth): AwsKeys | undefined {
  if (auth.scheme !== "aws") return undefined;
  const [accessKeyId = "", secretAccessKey = "", ...rest] = auth.key.split(":");
  const { region } = auth.exchange;
  return { region, accessKeyId, secretAccessKey, sessionToken: rest.join(":") };
}

/** Returns the secret parts of a credential. */
export function secretTexts(auth: UpstreamAuth): readonly string[] {
  const keys = awsKeysOf(auth);
  if (keys !== undefined) return [keys.secretAccessKey, keys.sessionToken];
  return auth.scheme === "none" ? [] : [auth.key];
}
