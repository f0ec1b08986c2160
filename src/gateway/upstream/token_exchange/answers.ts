import { isJsonObject, type JsonObject, parseJson } from "@gateway/base/json";

/** A failed exchange. The message is the cause, as the end of a sentence. */
export class TokenExchangeFault extends Error {
  override readonly name = "TokenExchangeFault";
}

/** A provider's new key, with its lifetime since the start of the request or its expiry time, in milliseconds. */
export type NewKey =
  & { readonly key: string }
  & ({ readonly lifeMs: number } | { readonly endsAtMs: number });

/**
 * Reads the response of an OAuth 2.0 token endpoint (RFC 6749, section 5.1). Azure's metadata service writes the
 * seconds as text. @throws {TokenExchangeFault}
 */
export function accessToken(text: string): NewKey {
  const { access_token, expires_in = 3600 } = objectIn(text);
  return { key: textOf(access_token), lifeMs: Number(expires_in) * 1000 };
}

/** Reads the response of Google's `generateAccessToken`. @throws {TokenExchangeFault} */
export function serviceAccountToken(text: string): NewKey {
  const { accessToken, expireTime } = objectIn(text);
  return { key: textOf(accessToken), endsAtMs: Date.parse(textOf(expireTime)) };
}

/** Reads short-lived keys of AWS, as its metadata services write them. @throws {TokenExchangeFault} */
export function awsKeys(text: string): NewKey {
  return keysOf(objectIn(text));
}

/**
 * Reads the response of AWS STS. It is XML without attributes or escapes in the fields that matter. @throws
 * {TokenExchangeFault}
 */
export function awsRoleKeys(text: string): NewKey {
  const field = (name: string) =>
    new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
  return keysOf({
    AccessKeyId: field("AccessKeyId"),
    SecretAccessKey: field("SecretAccessKey"),
    Token: field("SessionToken"),
    Expiration: field("Expiration"),
  });
}

function keysOf(fields: JsonObject): NewKey {
  const id = textOf(fields.AccessKeyId, /^\w+$/);
  const secret = textOf(fields.SecretAccessKey, /^[\w+/=]+$/);
  return {
    key: `${id}:${secret}:${textOf(fields.Token)}`,
    endsAtMs: Date.parse(textOf(fields.Expiration)),
  };
}

function objectIn(text: string): JsonObject {
  const value = parseJson(text);
  if (isJsonObject(value)) return value;
  throw new TokenExchangeFault("the response is not JSON");
}

/** Returns a text of a response. The error never quotes the text, because the text may be a token. */
function textOf(value: unknown, form = /./): string {
  if (typeof value === "string" && form.test(value)) return value;
  throw new TokenExchangeFault("the response has no token");
}

/** The error codes of OAuth 2.0 (RFC 6749, section 5.2; RFC 8693) and of AWS. Such codes hold no secret. */
const CODE_REGEXP = /"error"\s*:\s*"([a-z_]{1,40})"|<Code>(\w{1,40})<\/Code>/;

/** Returns the error code in a response, if any. */
export function errorCode(text: string): string | undefined {
  const [, oauth, aws] = CODE_REGEXP.exec(text) ?? [];
  return oauth ?? aws;
}
