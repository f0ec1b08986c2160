import { z } from "zod";
import { type Findings, listAt } from "../problems.ts";
import { type ConnectionFields, connectionSchema } from "./connection.ts";
import { text } from "./fields.ts";
import { type IdentityFields, identitySchema } from "./identity.ts";
import { validate } from "./problems.ts";
import { limitsSchema, serverSchema, timeoutsSchema } from "./server.ts";
import {
  defaultsSchema,
  groupsSchema,
  type TokenFields,
  tokenSchema,
} from "./token.ts";

/** More log files than one host has. */
const MAX_PATTERNS = 32;

const MAX_PATTERN_LENGTH = 4096;

/** `usage`. */
const usageSchema = z.strictObject({
  replay: z.array(z.string().min(1).max(MAX_PATTERN_LENGTH)).max(MAX_PATTERNS)
    .default([]).describe(
      "Paths of the gateway's own logs, with wildcards. The usage in them is counted at the start.",
    ),
});

const EXAMPLE = "rediss://gateway@valkey.example:6379/0";

const PREFIX_REGEXP = /^[\x21-\x7e]{1,64}$/;

/** `shared`. */
const sharedSchema = z.strictObject({
  url: text().refine(isStoreUrl, {
    error: `must be the URL of a Valkey or Redis server, such as ${EXAMPLE}.`,
  }).describe(
    "The store: redis: or rediss: (TLS), with an optional user, password and database number.",
  ),
  password: text().optional().describe(
    "The store's password, unencoded, when url has none.",
  ),
  password_file: text().optional().describe(
    "Path of a file with the password, relative to this file.",
  ),
  ca: text().optional().describe(
    "Path of a PEM file, relative to this file, with certificates that verify the store's. Default: the system's.",
  ),
  prefix: z.string().regex(PREFIX_REGEXP, {
    error: "must be 1 to 64 printable ASCII characters without spaces.",
  }).default("model-gateway:").describe(
    "The prefix of every key in the store.",
  ),
});

function isStoreUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(value);
  return /^rediss?:$/.test(protocol) && hostname !== "" &&
    /^\/?$|^\/\d{1,5}$/.test(pathname) && search === "" && hash === "";
}

/**
 * The file without the contents of its lists. Connections and tokens are validated one by one, so that a problem in one
 * hides none in the others.
 */
const fileSchema = z.strictObject({
  server: serverSchema.prefault({}).describe(
    "The listeners and the limits of the server.",
  ),
  messages_vendor: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, {
    error: "must be lower-case letters, digits and hyphens, such as anthropic.",
  }).default("anthropic").describe(
    "The segment of the legacy Messages paths, and the prefix of the version header.",
  ),
  timeouts: timeoutsSchema.prefault({}).describe(
    "The deadlines of all connections.",
  ),
  limits: limitsSchema.prefault({}).describe("Settings for reading quotas."),
  defaults: defaultsSchema.prefault({})
    .describe("The settings of tokens that set none."),
  groups: groupsSchema.default({}).describe(
    "Groups of tokens by name. Each has `limits` like a token, which its members share.",
  ),
  usage: usageSchema.prefault({}).describe("Settings for counting usage."),
  shared: sharedSchema.optional().describe(
    "A store that replicas share: quotas, cool-downs, counts and limits.",
  ),
  connections: z.array(z.unknown()).min(1, {
    error: "must list at least one connection.",
  }),
  tokens: z.array(z.unknown()),
  identity: z.array(z.unknown()).default([]),
});

/** The file with all of its contents. */
export const wholeFileSchema = fileSchema.extend({
  connections: z.array(connectionSchema).min(1).describe(
    "The providers. Several may serve the same model.",
  ),
  tokens: z.array(tokenSchema).describe(
    "The callers, and the connections and models that each may use.",
  ),
  identity: z.array(identitySchema).default([]).describe(
    "Identity providers, whose tokens (JWT) identify callers.",
  ),
});

/**
 * The fields of a file. A part with problems is present as far as the rest of it is valid. The findings list the
 * problems.
 */
export interface FileFields {
  /** Everything except connections, tokens and identity providers. */
  readonly general:
    | Omit<z.output<typeof fileSchema>, "connections" | "tokens" | "identity">
    | undefined;
  readonly connections: readonly (ConnectionFields | undefined)[];
  readonly tokens: readonly (TokenFields | undefined)[];
  readonly identity: readonly (IdentityFields | undefined)[];
}

/** Validates the tree of a file. Problems go to the findings. */
export function validateFile(tree: unknown, findings: Findings): FileFields {
  const general = validate(fileSchema, {
    value: tree,
    path: [],
    findings,
    placeholders: { connections: [null], tokens: [], identity: [] },
  });
  return {
    general,
    connections: listAt(tree, "connections").map((value, index) =>
      validate(connectionSchema, {
        value,
        path: ["connections", index],
        findings,
        placeholders: { name: "?", models: [] },
      })
    ),
    tokens: listAt(tree, "tokens").map((value, index) =>
      validate(tokenSchema, {
        value,
        path: ["tokens", index],
        findings,
        placeholders: { name: "?", sha256: "0".repeat(64), connections: [] },
      })
    ),
    identity: listAt(tree, "identity").map((value, index) =>
      validate(identitySchema, { value, path: ["identity", index], findings })
    ),
  };
}
