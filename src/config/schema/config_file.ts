import { z } from "zod";
import { type Findings, listAt } from "../problems.ts";
import { type ConnectionFields, connectionSchema } from "./connection.ts";
import { text } from "./fields.ts";
import { validate } from "./problems.ts";
import { limitsSchema, serverSchema, timeoutsSchema } from "./server.ts";
import {
  defaultsSchema,
  groupsSchema,
  type TokenFields,
  tokenSchema,
} from "./token.ts";

/** More than one host has logs of. */
const MAX_PATTERNS = 32;

const MAX_PATTERN_LENGTH = 4096;

/** `usage`. */
const usageSchema = z.strictObject({
  replay: z.array(z.string().min(1).max(MAX_PATTERN_LENGTH)).max(MAX_PATTERNS)
    .default([]).describe(
      "The gateway's own logs, as paths with wildcards: what they say was used is counted at the start.",
    ),
});

const EXAMPLE = "rediss://gateway@valkey.example:6379/0";

const PREFIX_REGEXP = /^[\x21-\x7e]{1,64}$/;

/** `shared`. */
const sharedSchema = z.strictObject({
  url: text().refine(isStoreUrl, {
    error: `must be the URL of a Valkey or Redis server, such as ${EXAMPLE}`,
  }).describe(
    "The store: redis: or rediss: (TLS), with a user, a password and the number of a database where there are any.",
  ),
  password: text().optional().describe(
    "The store's password as it is, where it does not stand in url.",
  ),
  password_file: text().optional().describe(
    "A file that holds the password: path, relative to this file.",
  ),
  ca: text().optional().describe(
    "The certificates that the store's is checked against in place of the system's: path of a PEM file, relative to this file.",
  ),
  prefix: z.string().regex(PREFIX_REGEXP, {
    error: "must be 1 to 64 printable ASCII characters without spaces",
  }).default("model-gateway:").describe(
    "What the name of every key in the store begins with.",
  ),
});

function isStoreUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(value);
  return /^rediss?:$/.test(protocol) && hostname !== "" &&
    /^\/?$|^\/\d{1,5}$/.test(pathname) && search === "" && hash === "";
}

/**
 * The file but for what its lists hold: connections and tokens are validated one by one, so that what is
 * wrong with one hides nothing of the others.
 */
const fileSchema = z.strictObject({
  server: serverSchema.prefault({}).describe("Where and how to listen."),
  messages_vendor: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, {
    error: "must be lower-case letters, digits and hyphens, such as anthropic",
  }).default("anthropic").describe(
    "The segment of the legacy paths of Messages, and the prefix of the version header.",
  ),
  timeouts: timeoutsSchema.prefault({}).describe(
    "The deadlines of all connections.",
  ),
  limits: limitsSchema.prefault({}).describe("How quotas are read."),
  defaults: defaultsSchema.prefault({})
    .describe("What tokens have that do not say otherwise."),
  groups: groupsSchema.default({}).describe(
    "Groups of tokens by their names, each with `limits` as of a token, which bind its members together.",
  ),
  usage: usageSchema.prefault({}).describe("How usage is counted."),
  shared: sharedSchema.optional().describe(
    "A store that replicas share: quotas, cool-downs, counts and limits.",
  ),
  connections: z.array(z.unknown()).min(1, {
    error: "must list at least one connection",
  }),
  tokens: z.array(z.unknown()),
});

/** The file with all that it holds. */
export const wholeFileSchema = fileSchema.extend({
  connections: z.array(connectionSchema).min(1).describe(
    "The providers; a model may stand under several of them.",
  ),
  tokens: z.array(tokenSchema).describe("Who may call, and what they may use."),
});

/**
 * A file as it says it. What has problems is there as far as the rest of it makes sense; the findings
 * say whether there are any.
 */
export interface FileFields {
  /** Everything but connections and tokens. */
  readonly general:
    | Omit<z.output<typeof fileSchema>, "connections" | "tokens">
    | undefined;
  readonly connections: readonly (ConnectionFields | undefined)[];
  readonly tokens: readonly (TokenFields | undefined)[];
}

/** Validates the tree of a file; what is wrong goes to the findings. */
export function validateFile(tree: unknown, findings: Findings): FileFields {
  const general = validate(fileSchema, {
    value: tree,
    path: [],
    findings,
    standIns: { connections: [null], tokens: [] },
  });
  return {
    general,
    connections: listAt(tree, "connections").map((value, index) =>
      validate(connectionSchema, {
        value,
        path: ["connections", index],
        findings,
        standIns: { name: "?", models: [] },
      })
    ),
    tokens: listAt(tree, "tokens").map((value, index) =>
      validate(tokenSchema, {
        value,
        path: ["tokens", index],
        findings,
        standIns: { name: "?", sha256: "0".repeat(64), connections: [] },
      })
    ),
  };
}
