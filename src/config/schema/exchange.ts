import { z } from "zod";
import { text } from "./fields.ts";

/** The token of the platform that is exchanged. */
const subjectSchema = z.union([
  z.strictObject({
    file: text().describe(
      "Path of a file that the platform rotates, relative to this file.",
    ),
  }),
  z.strictObject({
    google_metadata: text().describe(
      "The audience of an identity token of Google's metadata service.",
    ),
  }),
  z.strictObject({
    azure_metadata: text().describe(
      "The resource of a token of Azure's metadata service.",
    ),
  }),
], {
  error: "must be one of `file`, `google_metadata` and `azure_metadata`.",
}).describe(
  "The platform's token: a file that it rotates, or a token of its metadata service.",
);

const tokenUrlSchema = text().refine(isSafeUrl, {
  error: "must be a URL with https:, because a token is sent to it.",
}).optional();

function isSafeUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" ||
    protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
}

/** `auth.exchange`: how a short-lived token takes the place of a key. */
export const exchangeSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("anthropic"),
    subject: subjectSchema,
    federation_rule: text(),
    organization: text(),
    service_account: text().optional(),
    workspace: text().optional(),
    token_url: tokenUrlSchema,
  }),
  z.strictObject({
    kind: z.literal("openai"),
    subject: subjectSchema,
    identity_provider: text(),
    service_account: text(),
    token_url: tokenUrlSchema,
  }),
  z.strictObject({
    kind: z.literal("google"),
    subject: subjectSchema,
    audience: text(),
    service_account: text().optional(),
    token_url: tokenUrlSchema,
  }),
  z.strictObject({
    kind: z.literal("google_metadata"),
    service_account: text().default("default"),
  }),
  z.strictObject({
    kind: z.literal("azure"),
    subject: subjectSchema,
    tenant: text(),
    client: text(),
    scope: text().optional(),
    token_url: tokenUrlSchema,
  }),
  z.strictObject({
    kind: z.literal("azure_metadata"),
    client: text().optional(),
    resource: text().optional(),
  }),
], {
  error:
    "must be a mapping whose `kind` is anthropic, openai, google, google_metadata, azure or azure_metadata.",
}).describe(
  "Exchanges a token of the platform for a short-lived token of the provider, in place of a key.",
);

/** A response with a token (RFC 6749, section 5.1). Azure's metadata service writes the seconds as a text. */
export const accessTokenSchema = z.object({
  access_token: z.string(),
  expires_in: z.coerce.number().positive().default(3600),
});

/** A response of Google's `generateAccessToken`. */
export const serviceAccountTokenSchema = z.object({
  accessToken: z.string(),
  expireTime: z.iso.datetime({ offset: true }),
});
