import { z } from "zod";
import { name, text } from "./fields.ts";
import { accessFields } from "./token.ts";

const MAX_TEXT = 1024;

/**
 * An issuer: the identity provider's URL, or an `iss` that is no URL. Spaces and brackets are rejected, because a
 * caller's name ends with the issuer in brackets.
 */
const issuerSchema = z.string().max(MAX_TEXT).regex(/^[^\s()\p{Cc}]+$/u, {
  error: "must be the issuer's URL, without spaces and parentheses.",
});

const audienceSchema = z.union([
  text().transform((one) => [one]),
  z.array(text()).min(1),
], { error: "must be a text or a list of texts, such as model-gateway." });

const keysUrlSchema = z.string().max(MAX_TEXT).refine(isHttpUrl, {
  error: "must be a URL that begins with https:// or http://.",
});

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** A condition: the value that each claim must have, by the claim's name. */
const conditionSchema = z.record(
  text(),
  z.union([text(), z.number(), z.boolean()], {
    error: "must be a text, a number, true or false.",
  }),
).refine((claims) => Object.keys(claims).length > 0, {
  error: "must name a claim. Leave it out for a rule that holds for everybody.",
});

const ruleSchema = z.strictObject({
  when: conditionSchema.optional().describe(
    "Claims and their values. Each must be equal, or an element of the claim's list. A dot leads into an object. Default: everybody.",
  ),
  ...accessFields,
});

/** An entry of `identity`. */
export const identitySchema = z.strictObject({
  issuer: issuerSchema.describe("The exact `iss` of the issuer's tokens."),
  audience: audienceSchema.describe(
    "The accepted `aud` of the issuer's tokens. If this is a list, one entry must match.",
  ),
  jwks_url: keysUrlSchema.optional().describe(
    "The URL of the issuer's keys. Default: the `jwks_uri` in issuer + /.well-known/openid-configuration.",
  ),
  jwks_file: text().optional().describe(
    "Path of a file with the issuer's keys (JWKS), in place of jwks_url. Relative to this file.",
  ),
  name: name().default("sub").describe(
    "The claim that names the caller. Choose one that users cannot change.",
  ),
  sign_in: z.strictObject({
    client: text().describe(
      "The id of the issuer's client for sign-ins of people.",
    ),
    scope: text().default("openid offline_access").describe(
      "The scopes that a sign-in requests.",
    ),
    audience: text().optional().describe(
      "The `audience` parameter of a sign-in, for issuers that need one.",
    ),
  }).optional().describe(
    "Lets Claude Code sign in at the gateway, which sends people on to the issuer. Default: no sign-in.",
  ),
  rules: z.array(ruleSchema).min(1, {
    error: "must not be empty: without a rule, nobody may use anything.",
  }).describe(
    "What the issuer's callers may use. The first rule whose `when` holds applies. If no rule applies, the response is a 403.",
  ),
});

/** An identity provider in the file. */
export type IdentityFields = z.output<typeof identitySchema>;
