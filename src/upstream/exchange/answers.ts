import { z } from "zod";

/** The cause of a failed exchange, as the end of a sentence. */
export class ExchangeFault extends Error {
  override readonly name = "ExchangeFault";
}

/** The key of a provider, and its life: from the start of its request, or until a time; in milliseconds. */
export type NewKey =
  & { readonly key: string }
  & ({ readonly lifeMs: number } | { readonly endsAtMs: number });

/** A response with a token (RFC 6749, section 5.1). Azure's metadata service writes the seconds as a text. */
const accessTokenSchema = z.object({
  access_token: z.string(),
  expires_in: z.coerce.number().positive().default(3600),
}).transform(({ access_token, expires_in }) => ({
  key: access_token,
  lifeMs: expires_in * 1000,
}));

/** A response of Google's `generateAccessToken`. */
const serviceAccountSchema = z.object({
  accessToken: z.string(),
  expireTime: z.iso.datetime({ offset: true }),
}).transform(({ accessToken, expireTime }) => ({
  key: accessToken,
  endsAtMs: Date.parse(expireTime),
}));

/** Short-lived keys of AWS, as its metadata services write them. */
const awsKeysSchema = z.object({
  AccessKeyId: z.string().regex(/^\w+$/),
  SecretAccessKey: z.string().regex(/^[\w+/=]+$/),
  Token: z.string().min(1),
  Expiration: z.iso.datetime({ offset: true }),
}).transform(({ AccessKeyId, SecretAccessKey, Token, Expiration }) => ({
  key: `${AccessKeyId}:${SecretAccessKey}:${Token}`,
  endsAtMs: Date.parse(Expiration),
}));

/** Reads the response of an OAuth 2.0 token endpoint. @throws {ExchangeFault} */
export function accessToken(text: string): NewKey {
  return parse(accessTokenSchema, text);
}

/** Reads the response of `generateAccessToken`. @throws {ExchangeFault} */
export function serviceAccountToken(text: string): NewKey {
  return parse(serviceAccountSchema, text);
}

/** Reads the response of a metadata service of AWS. @throws {ExchangeFault} */
export function awsKeys(text: string): NewKey {
  return parse(awsKeysSchema, text);
}

/**
 * Reads the response of AWS STS, which is XML without attributes or escapes in the fields that matter. @throws
 * {ExchangeFault}
 */
export function awsRoleKeys(text: string): NewKey {
  const field = (name: string) =>
    new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
  return awsKeys(JSON.stringify({
    AccessKeyId: field("AccessKeyId"),
    SecretAccessKey: field("SecretAccessKey"),
    Token: field("SessionToken"),
    Expiration: field("Expiration"),
  }));
}

/** Parses a response. Its text never goes into an error: it may hold a token. */
function parse(schema: z.ZodType<NewKey>, text: string): NewKey {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ExchangeFault("the response is not JSON");
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ExchangeFault("the response has no token");
}

/** The error codes of OAuth 2.0 (RFC 6749, section 5.2; RFC 8693) and of AWS, which hold no secret. */
const CODE_REGEXP = /"error"\s*:\s*"([a-z_]{1,40})"|<Code>(\w{1,40})<\/Code>/;

/** Returns the error code in a response, if any. */
export function errorCode(text: string): string | undefined {
  const [, oauth, aws] = CODE_REGEXP.exec(text) ?? [];
  return oauth ?? aws;
}
