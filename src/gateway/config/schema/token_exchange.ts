import { z } from "zod";
import { isSafeUrl } from "@gateway/base/safe_url";
import { decimal, secret, text } from "./fields.ts";

/** The platform's token. The gateway exchanges this token for a token of the provider. */
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

const tokenUrlSchema = text().refine((value) => isSafeUrl(value), {
  error: "must be a URL with https:, because a token is sent to it.",
}).optional();

/** The hosts of ECS and EKS (docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html). */
const CONTAINER_HOSTS: readonly string[] = [
  "169.254.170.2",
  "169.254.170.23",
  "[fd00:ec2::23]",
];

const regionSchema = z.string().regex(/^[a-z0-9-]+$/, {
  error: "must be a region of AWS, such as eu-central-1.",
});

/** Returns the schema of an exchange of the platform's token. Default of `token_url`: the provider's address. */
function subjectExchange<
  Kind extends string,
  Fields extends Record<string, z.ZodType>,
>(kind: Kind, fields: Fields) {
  return z.strictObject({
    kind: z.literal(kind),
    subject: subjectSchema,
    ...fields,
    token_url: tokenUrlSchema,
  });
}

/** `auth.exchange`: how a short-lived token takes the place of a key. */
export const tokenExchangeSchema = z.discriminatedUnion("kind", [
  subjectExchange("anthropic", {
    federation_rule: text(),
    organization: text(),
    service_account: text().optional(),
    workspace: text().optional(),
  }),
  subjectExchange("openai", {
    identity_provider: text(),
    service_account: text(),
  }),
  subjectExchange("codex", { federation_rule: text() }),
  subjectExchange("google", {
    audience: text(),
    service_account: text().optional(),
  }),
  z.strictObject({
    kind: z.literal("google_metadata"),
    service_account: text().default("default"),
  }),
  subjectExchange("azure", {
    tenant: text(),
    client: text(),
    scope: text().optional(),
  }),
  z.strictObject({
    kind: z.literal("azure_metadata"),
    client: text().optional(),
    resource: text().optional(),
  }),
  subjectExchange("aws", { region: regionSchema, role: text() }),
  z.strictObject({
    kind: z.literal("aws_container"),
    region: regionSchema,
    url: text().refine((value) => isSafeUrl(value, CONTAINER_HOSTS), {
      error:
        "must be a URL with https:, or one of the container's own metadata service.",
    }),
    token_file: text().optional(),
  }),
  z.strictObject({ kind: z.literal("aws_instance"), region: regionSchema }),
], {
  error:
    "must be a mapping whose `kind` is anthropic, openai, codex, google, google_metadata, azure, azure_metadata, aws, aws_container or aws_instance.",
}).describe(
  "Exchanges a token of the platform for a short-lived token of the provider, in place of a key.",
);

/** An exchange in the file. */
export type TokenExchangeFields = z.output<typeof tokenExchangeSchema>;

/** `auth.keys`: several keys in place of one. */
export const keysSchema = z.array(z.strictObject({
  name: z.string().regex(/^[\w.-]{1,40}$/, {
    error: "must be letters, digits, dots, hyphens or underscores.",
  }).optional().describe(
    "What follows the connection's name in the log, metrics and /limits, for this key. Default: the key's number.",
  ),
  key: text().meta(secret()).optional().describe(
    "The key, best as a variable: ${NAME}.",
  ),
  key_file: text().optional()
    .describe("Path of a file with only the key."),
  weight: decimal({ min: 0.01, max: 100 }).default(1)
    .describe("The key's share of the new conversations."),
})).min(1).describe(
  "Several keys in place of one, each a connection of its own in the log, in metrics and in /limits.",
);
